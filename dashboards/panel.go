package dashboards

// gridWidth is the number of columns of Grafana's grid.
const gridWidth = 24

// kind is the type of a panel.
type kind string

const (
	kindGraph   kind = "timeseries"
	kindStat    kind = "stat"
	kindHeatmap kind = "heatmap"
	kindTable   kind = "table"
)

// Colours of thresholds.
const (
	green  = "green"
	yellow = "yellow"
	red    = "red"
	blue   = "blue"
	grey   = "text"
)

// Units. Grafana writes what follows suffix: after the number.
const (
	unitShare         = "percentunit"
	unitNumber        = "none"
	unitBlocks        = "suffix:blocks"
	unitBlocksRate    = "suffix:blocks/s"
	unitTokens        = "suffix:tokens"
	unitRequests      = "suffix:requests"
	unitRequestsRate  = "reqps"
	unitDecisionsRate = "suffix:decisions/s"
	unitEventsRate    = "suffix:events/s"
	unitLinesRate     = "suffix:lines/s"
	unitWorkers       = "suffix:workers"
	unitCores         = "suffix:cores"
	unitBytes         = "bytes"
	unitBytesRate     = "Bps"
	unitMilliseconds  = "ms"
	unitSeconds       = "s"
)

// quietShare is the least end of the axis of a share.
const quietShare = 0.1

// query is an expression with the name of its series.
type query struct {
	expr   expr
	legend string
}

// def defines a panel. The id is ours and never changes: links name it.
type def struct {
	id      int
	kind    kind
	title   string
	about   string // the description
	w       int
	unit    string
	queries []query
	steps   []step // thresholds; none: no colours

	max       float64 // of the axis, if not 0
	signed    bool    // values may be below 0
	stacked   bool
	points    bool // also draws exemplars
	decisions bool // links to the decisions of the exporter
	total     bool // one value over the time range of the dashboard, not over time
	noValue   string
	mappings  []mapping
	columns   []string // of a table, in order
}

// below is the colour of everything under the first threshold.
func below(color string) step { return step{Color: color} }

// from is the colour of a value and what is above it.
func from(value float64, color string) step { return step{Color: color, Value: &value} }

// builder lays panels out from left to right, then in the next line.
type builder struct {
	source sourceRef
	panels []Panel
	x, y   int
	line   int // height of the line that is being filled
}

func (b *builder) newLine() {
	b.x, b.y, b.line = 0, b.y+b.line, 0
}

// row starts a row, which heads the panels that follow.
func (b *builder) row(id int, title string) {
	b.newLine()
	open := false
	b.panels = append(b.panels, Panel{ID: id, Type: "row", Title: title, GridPos: gridPos{1, gridWidth, 0, b.y}, Collapsed: &open, Panels: &[]Panel{}})
	b.y++
}

func (b *builder) add(defs ...def) {
	for _, d := range defs {
		height := 8
		if d.kind == kindStat {
			height = 4
		}
		if b.x+d.w > gridWidth {
			b.newLine()
		}
		p := d.panel(b.source)
		p.GridPos = gridPos{height, d.w, b.x, b.y}
		b.x += d.w
		b.line = max(b.line, height)
		b.panels = append(b.panels, p)
	}
}

func (d def) panel(source sourceRef) Panel {
	p := Panel{ID: d.id, Type: string(d.kind), Title: d.title, Description: d.about, Datasource: &source}
	for i, q := range d.queries {
		p.Targets = append(p.Targets, d.target(i, q, source))
	}
	defaults := d.defaults()
	switch d.kind {
	case kindGraph:
		p.Options, defaults.Custom = graph(), d.lines()
	case kindStat:
		options := stat()
		if d.total {
			options.GraphMode = "none"
		}
		p.Options = options
		defaults.Color.Mode = "thresholds"
	case kindHeatmap:
		p.Options = heatmap(d.unit)
	case kindTable:
		p.Options = tableOptions{CellHeight: "sm", ShowHeader: true}
		p.Transformations = []transformation{{"organize", organize(d.columns)}}
	}
	p.FieldConfig = &fieldConfig{Defaults: defaults, Overrides: []override{}}
	return p
}

// lines returns how the lines of a graph look.
func (d def) lines() graphCustom {
	c := lines()
	if d.stacked {
		c.Stacking.Mode, c.FillOpacity = "normal", 30
	}
	if len(d.steps) > 0 {
		c.ThresholdsStyle.Mode = "dashed"
	}
	if d.unit == unitShare && d.max == 0 {
		c.AxisSoftMax = quietShare // else an axis without a value above 0 goes to 10000 %
	}
	return c
}

func (d def) target(i int, q query, source sourceRef) Target {
	t := Target{
		RefID: string(rune('A' + i)), Datasource: source, EditorMode: "code", Expr: q.expr.text, LegendFormat: q.legend,
		Format: "time_series", Range: true, Exemplar: d.points, reads: q.expr.reads,
	}
	switch d.kind {
	case kindHeatmap:
		t.Format = "heatmap"
	case kindTable:
		t.Format, t.Range, t.Instant = "table", false, true
	}
	if d.total {
		t.Expr, t.Range, t.Instant = overRange(q.expr).text, false, true
	}
	return t
}

func (d def) defaults() fieldDefaults {
	f := fieldDefaults{
		Unit: d.unit, NoValue: d.noValue, Mappings: d.mappings, Color: fieldColor{"palette-classic"},
		Thresholds: thresholds{"absolute", d.steps},
	}
	if len(d.steps) == 0 {
		f.Thresholds.Steps = []step{below(grey)}
	}
	if !d.signed {
		f.Min = new(float64)
	}
	if d.max > 0 {
		f.Max = &d.max
	}
	if d.decisions {
		f.Links = []dataLink{{Title: "Last decisions, each with its explanation", URL: "${" + varExporter + ":raw}/", TargetBlank: true}}
	}
	return f
}

// organize shows the columns in order, and leaves out time and value.
func organize(columns []string) organizeOptions {
	o := organizeOptions{ExcludeByName: map[string]bool{"Time": true, "Value": true}, IndexByName: map[string]int{}, RenameByName: map[string]string{}}
	for i, c := range columns {
		o.IndexByName[c] = i
	}
	return o
}
