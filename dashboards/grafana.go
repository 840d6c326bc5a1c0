package dashboards

import "github.com/kvshadow/kvshadow/catalog"

// The types below are the part of Grafana's dashboard JSON (schema version 42,
// Grafana 12 and later; older ones read it too) that the dashboards use. They
// are checked against Grafana's own types by checks/grafana-types.

const schemaVersion = 42

// Dashboard is a Grafana dashboard.
type Dashboard struct {
	UID           string      `json:"uid"`
	Title         string      `json:"title"`
	Description   string      `json:"description"`
	Tags          []string    `json:"tags"`
	Timezone      string      `json:"timezone"`
	Editable      bool        `json:"editable"`
	GraphTooltip  int         `json:"graphTooltip"`
	SchemaVersion int         `json:"schemaVersion"`
	Refresh       string      `json:"refresh"`
	Time          timeRange   `json:"time"`
	Links         []Link      `json:"links"`
	Templating    templating  `json:"templating"`
	Annotations   annotations `json:"annotations"`
	Panels        []Panel     `json:"panels"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []Variable `json:"list"`
}

type annotations struct {
	List []struct{} `json:"list"`
}

// Link is a link in the head of a dashboard: to a place, or to every dashboard
// with the tags.
type Link struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Tooltip     string   `json:"tooltip"`
	Icon        string   `json:"icon"`
	URL         string   `json:"url,omitempty"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
	TargetBlank bool     `json:"targetBlank"`
}

// Variable is a variable of a dashboard.
type Variable struct {
	Name        string     `json:"name"`
	Label       string     `json:"label"`
	Description string     `json:"description"`
	Type        string     `json:"type"`
	Query       any        `json:"query"`
	Datasource  *sourceRef `json:"datasource,omitempty"`
	Regex       string     `json:"regex,omitempty"`
	Refresh     int        `json:"refresh,omitempty"`
	Sort        int        `json:"sort,omitempty"`
	Multi       bool       `json:"multi,omitempty"`
	IncludeAll  bool       `json:"includeAll,omitempty"`
	AllValue    string     `json:"allValue,omitempty"`
	Current     *option    `json:"current,omitempty"`
	Options     []option   `json:"options,omitempty"`

	reads []catalog.Use
}

// labelQuery is the query of a variable over label values.
type labelQuery struct {
	Query string `json:"query"`
	RefID string `json:"refId"`
}

// option is a value of a variable. Text and Value are strings, or lists of them
// where several may be chosen.
type option struct {
	Selected bool `json:"selected"`
	Text     any  `json:"text"`
	Value    any  `json:"value"`
}

// Panel is a panel, or a row that heads the panels below it.
type Panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	GridPos         gridPos          `json:"gridPos"`
	Datasource      *sourceRef       `json:"datasource,omitempty"`
	Targets         []Target         `json:"targets,omitempty"`
	FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
	Options         any              `json:"options,omitempty"`
	Transformations []transformation `json:"transformations,omitempty"`
	Collapsed       *bool            `json:"collapsed,omitempty"`
	Panels          *[]Panel         `json:"panels,omitempty"`
}

type gridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type sourceRef struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Target is a query of a panel.
type Target struct {
	RefID        string    `json:"refId"`
	Datasource   sourceRef `json:"datasource"`
	EditorMode   string    `json:"editorMode"`
	Expr         string    `json:"expr"`
	LegendFormat string    `json:"legendFormat"`
	Format       string    `json:"format"`
	Range        bool      `json:"range"`
	Instant      bool      `json:"instant"`
	Exemplar     bool      `json:"exemplar"`

	reads []catalog.Use
}

type transformation struct {
	ID      string `json:"id"`
	Options any    `json:"options"`
}

type fieldConfig struct {
	Defaults  fieldDefaults `json:"defaults"`
	Overrides []override    `json:"overrides"`
}

type fieldDefaults struct {
	Unit       string     `json:"unit"`
	Decimals   *int       `json:"decimals,omitempty"`
	Min        *float64   `json:"min,omitempty"`
	Max        *float64   `json:"max,omitempty"`
	NoValue    string     `json:"noValue,omitempty"`
	Color      fieldColor `json:"color"`
	Mappings   []mapping  `json:"mappings,omitempty"`
	Thresholds thresholds `json:"thresholds"`
	Links      []dataLink `json:"links,omitempty"`
	Custom     any        `json:"custom,omitempty"`
}

type fieldColor struct {
	Mode string `json:"mode"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

// step is a threshold; the first has no value and stands for everything below.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// mapping shows values as texts.
type mapping struct {
	Type    string               `json:"type"`
	Options map[string]valueText `json:"options"`
}

type valueText struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Index int    `json:"index"`
}

type dataLink struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	TargetBlank bool   `json:"targetBlank"`
}

type override struct {
	Matcher    property   `json:"matcher"`
	Properties []property `json:"properties"`
}

type property struct {
	ID      string `json:"id,omitempty"`
	Options any    `json:"options,omitempty"`
	Value   any    `json:"value,omitempty"`
}
