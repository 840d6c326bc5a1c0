package dashboards

type graphOptions struct {
	Legend  legend  `json:"legend"`
	Tooltip tooltip `json:"tooltip"`
}

type legend struct {
	ShowLegend  bool     `json:"showLegend"`
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	Calcs       []string `json:"calcs"`
}

type tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

type graphCustom struct {
	DrawStyle         string     `json:"drawStyle"`
	LineInterpolation string     `json:"lineInterpolation"`
	LineWidth         int        `json:"lineWidth"`
	FillOpacity       int        `json:"fillOpacity"`
	ShowPoints        string     `json:"showPoints"`
	SpanNulls         bool       `json:"spanNulls"`
	AxisPlacement     string     `json:"axisPlacement"`
	AxisSoftMax       float64    `json:"axisSoftMax,omitempty"`
	Stacking          stacking   `json:"stacking"`
	ThresholdsStyle   styledMode `json:"thresholdsStyle"`
}

type stacking struct {
	Mode  string `json:"mode"`
	Group string `json:"group"`
}

type styledMode struct {
	Mode string `json:"mode"`
}

type statOptions struct {
	ReduceOptions          reduce `json:"reduceOptions"`
	Orientation            string `json:"orientation"`
	ColorMode              string `json:"colorMode"`
	GraphMode              string `json:"graphMode"`
	JustifyMode            string `json:"justifyMode"`
	TextMode               string `json:"textMode"`
	WideLayout             bool   `json:"wideLayout"`
	ShowPercentChange      bool   `json:"showPercentChange"`
	PercentChangeColorMode string `json:"percentChangeColorMode"`
}

type reduce struct {
	Calcs  []string `json:"calcs"`
	Fields string   `json:"fields"`
	Values bool     `json:"values"`
}

type heatmapOptions struct {
	Calculate    bool           `json:"calculate"`
	CellGap      int            `json:"cellGap"`
	Color        heatmapColor   `json:"color"`
	Exemplars    exemplarColor  `json:"exemplars"`
	FilterValues filterValues   `json:"filterValues"`
	Legend       heatmapLegend  `json:"legend"`
	RowsFrame    rowsFrame      `json:"rowsFrame"`
	ShowValue    string         `json:"showValue"`
	Tooltip      heatmapTooltip `json:"tooltip"`
	YAxis        heatmapAxis    `json:"yAxis"`
}

type heatmapColor struct {
	Mode     string  `json:"mode"`
	Scheme   string  `json:"scheme"`
	Scale    string  `json:"scale"`
	Exponent float64 `json:"exponent"`
	Fill     string  `json:"fill"`
	Reverse  bool    `json:"reverse"`
	Steps    int     `json:"steps"`
}

type exemplarColor struct {
	Color string `json:"color"`
}

type filterValues struct {
	LE float64 `json:"le"`
}

type heatmapLegend struct {
	Show bool `json:"show"`
}

type rowsFrame struct {
	Layout string `json:"layout"`
}

type heatmapTooltip struct {
	Mode           string `json:"mode"`
	YHistogram     bool   `json:"yHistogram"`
	ShowColorScale bool   `json:"showColorScale"`
}

type heatmapAxis struct {
	AxisPlacement string `json:"axisPlacement"`
	Reverse       bool   `json:"reverse"`
	Unit          string `json:"unit"`
}

type tableOptions struct {
	CellHeight string `json:"cellHeight"`
	FrameIndex int    `json:"frameIndex"`
	ShowHeader bool   `json:"showHeader"`
}

type organizeOptions struct {
	ExcludeByName map[string]bool   `json:"excludeByName"`
	IndexByName   map[string]int    `json:"indexByName"`
	RenameByName  map[string]string `json:"renameByName"`
}

func graph() graphOptions {
	return graphOptions{
		Legend:  legend{ShowLegend: true, DisplayMode: "list", Placement: "bottom", Calcs: []string{}},
		Tooltip: tooltip{Mode: "multi", Sort: "desc"},
	}
}

func lines() graphCustom {
	return graphCustom{
		DrawStyle: "line", LineInterpolation: "linear", LineWidth: 1, FillOpacity: 8, ShowPoints: "never",
		AxisPlacement: "auto", Stacking: stacking{"none", "A"}, ThresholdsStyle: styledMode{"off"},
	}
}

func stat() statOptions {
	return statOptions{
		ReduceOptions: reduce{Calcs: []string{"lastNotNull"}}, Orientation: "auto", ColorMode: "value", GraphMode: "area",
		JustifyMode: "auto", TextMode: "auto", WideLayout: true, PercentChangeColorMode: "standard",
	}
}

// heatmap shows classic buckets, which the data source has turned into rows.
func heatmap(unit string) heatmapOptions {
	return heatmapOptions{
		CellGap:      1,
		Color:        heatmapColor{Mode: "scheme", Scheme: "Oranges", Scale: "exponential", Exponent: 0.5, Fill: "dark-orange", Steps: 64},
		Exemplars:    exemplarColor{"rgba(255,0,255,0.7)"},
		FilterValues: filterValues{1e-9},
		Legend:       heatmapLegend{Show: true},
		RowsFrame:    rowsFrame{"auto"},
		ShowValue:    "never",
		Tooltip:      heatmapTooltip{Mode: "single", YHistogram: true},
		YAxis:        heatmapAxis{AxisPlacement: "left", Unit: unit},
	}
}
