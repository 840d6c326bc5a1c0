package catalog

// ShadowSections returns kvshadow's own metrics in groups.
func ShadowSections() []Section {
	return []Section{
		{Title: "Evaluation", Intro: "What the router decided, and what each policy would have decided. Every series is there, at 0, from the first scrape on.", Metrics: []Metric{
			Decisions, DecisionsExcluded, NonMaxOverlapSelections, OverlapLostBlocks, OverlapBlocksLost,
			DivergingSelections, MissingPrefixBlocks, LoadExcessBlocks, UnsupportedDecisions, RequestBlocks,
			RequestsOfUnknownLength, FidelityChecked, FidelityMismatches, PolicyInfo,
		}},
		{Title: "Sources", Intro: "What happened to the input. Each source has its series from the first scrape on.", Metrics: []Metric{
			SourceLines, SourceBytes, SourceDecisions, SourceIgnoredLines, SourceUndecodable,
			SourceDroppedLines, SourceDroppedBytes, SourceErrors, SourceReconnects, SourceRotations, SourceTruncations,
			SourceOpenFiles, SourceLag,
		}},
		{Title: "Rebuilt decisions", Intro: "Decisions rebuilt from request traces, and how they compare with the router's own rows.", Metrics: []Metric{
			Lifecycles, LifecyclesLost, RebuiltCandidates, RebuiltExact,
		}},
		{Title: "The exporter", Intro: "The exporter's own configuration. Process metrics and kvshadow_build_info stand on the page too and are not listed here.", Metrics: []Metric{
			ReloadSuccess, ReloadTime,
		}},
	}
}
