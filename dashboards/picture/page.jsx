// Draws a recorded dashboard with Grafana's own components. window.RECORD is
// what record.py wrote. Grafana publishes its graphs, single values and panel
// frames (@grafana/ui, Apache-2.0), but neither the dashboard's grid nor the
// heatmap and table panels: those are drawn plainly here.
import { Component } from "react";
import { createRoot } from "react-dom/client";
import "@fontsource/inter/400.css";
import "@fontsource/inter/500.css";
import { createTheme, dateTime, FieldType, getDisplayProcessor, ThemeContext, toDataFrame } from "@grafana/data";
import { initPluginTranslations } from "@grafana/i18n";
import { BigValue, GlobalStyles, PanelChrome, TimeSeries } from "@grafana/ui";

const COLUMN = 64, LINE = 38, GAP = 8, HEAD = 64;
const GREY = "#9a9aa6";
const theme = createTheme({ colors: { mode: "dark" } });
const { dashboard, data, start, end, step } = window.RECORD;

// frameOf makes a frame as the data source does: with a value for each step, or
// null.
function frameOf(panel, i, { name, points }) {
  const known = new Map(points.map(([t, v]) => [t, v])), times = [], values = [];
  for (let t = points[0][0]; t <= points[points.length - 1][0]; t += step) {
    times.push(t * 1000);
    values.push(known.get(t) ?? null);
  }
  const frame = toDataFrame({
    refId: String(i), fields: [
      { name: "Time", type: FieldType.time, values: times, config: {} },
      { name, type: FieldType.number, values, config: { ...panel.fieldConfig.defaults, links: [] } },
    ],
  });
  frame.fields.forEach((field, j) => {
    field.display = getDisplayProcessor({ field, theme, timeZone: "utc" });
    const there = field.values.filter((v) => v !== null), [min, max] = [Math.min(...there), Math.max(...there)];
    field.state = { seriesIndex: i, displayName: j ? name : "Time", multipleFrames: true, range: { min, max, delta: max - min } };
  });
  return frame;
}

function Graph({ panel, series, width, height }) {
  const range = { from: dateTime(start * 1000), to: dateTime(end * 1000), raw: { from: "now-5m", to: "now" } };
  return <TimeSeries frames={series.map((s, i) => frameOf(panel, i, s))} timeRange={range} timeZone="utc" width={width} height={height}
    legend={panel.options.legend} options={panel.options} />;
}

function Stat({ panel, series, width, height }) {
  return <div style={{ display: "flex" }}>{series.map((s, i) => {
    const frame = frameOf(panel, i, s), field = frame.fields[1];
    const value = { ...field.display(s.points[s.points.length - 1][1]), title: series.length > 1 ? s.name : "" };
    return <BigValue key={i} theme={theme} width={width / series.length} height={height} value={value} sparkline={{ y: field, x: frame.fields[0] }}
      colorMode={panel.options.colorMode} graphMode={panel.options.graphMode} justifyMode="auto" textMode={series.length > 1 ? "value_and_name" : "auto"} />;
  })}</div>;
}

// Heatmap takes cumulative buckets, as Prometheus has them.
function Heatmap({ series, width, height }) {
  const bound = (s) => Number(s.labels.le.replace("+Inf", "Infinity"));
  const rows = [...series].sort((a, b) => bound(a) - bound(b)), before = new Map(), cells = [];
  rows.forEach((row, y) => row.points.forEach(([t, v]) => {
    const n = v - (before.get(t) ?? 0);
    before.set(t, v);
    if (n > 1e-9) cells.push({ t, y, n });
  }));
  const most = Math.max(...cells.map((c) => c.n)), w = width - 48, h = (height - 18) / rows.length;
  const x = (t) => 48 + (t - start) / (end - start) * w, y = (i) => (rows.length - 1 - i) * h;
  return <svg width={width} height={height} fontSize="11" fill={GREY}>
    {rows.map((r, i) => i % 3 ? null : <text key={i} x="42" y={y(i) + 4} textAnchor="end">{r.labels.le}</text>)}
    {cells.map((c, i) => <rect key={i} x={x(c.t)} y={y(c.y)} width={w * step / (end - start)} height={h - 1} fill="#ff9830" fillOpacity={0.25 + 0.75 * Math.sqrt(c.n / most)} />)}
  </svg>;
}

function Table({ panel, series }) {
  const order = panel.transformations[0].options.indexByName, columns = Object.keys(order).sort((a, b) => order[a] - order[b]);
  const cell = { textAlign: "left", padding: "6px 12px", borderBottom: "1px solid #2c2e33" };
  return <table style={{ width: "100%", color: "#ccccdc" }}><tbody>
    <tr>{columns.map((c) => <th key={c} style={{ ...cell, color: "#6e9fff" }}>{c}</th>)}</tr>
    {series.map((s, i) => <tr key={i}>{columns.map((c) => <td key={c} style={cell}>{s.labels[c]}</td>)}</tr>)}
  </tbody></table>;
}

const views = { timeseries: Graph, stat: Stat, heatmap: Heatmap, table: Table };

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos, at = { position: "absolute", left: x * COLUMN, top: y * LINE };
  if (panel.type === "row") {
    return <div style={{ ...at, color: "#fff", fontSize: 16, fontWeight: 500, paddingTop: 6 }}>{panel.title}</div>;
  }
  const series = data[panel.id], View = views[panel.type];
  return <div style={at}><PanelChrome title={panel.title} width={w * COLUMN - GAP} height={h * LINE - GAP} padding="md">
    {(width, height) => series.length ? <View panel={panel} series={series} width={width} height={height} /> :
      <div style={{ lineHeight: height + "px", textAlign: "center", color: GREY }}>{panel.fieldConfig.defaults.noValue ?? "No data"}</div>}
  </PanelChrome></div>;
}

// Variables shows the variables as they were for the recording.
function Variables() {
  const shown = (v) => v.type === "datasource" ? "Prometheus" : v.type === "textbox" ? v.query : "All";
  return dashboard.templating.list.map((v) => <span key={v.name} style={{ marginRight: 16 }}>{v.label} <b style={{ color: "#ccccdc" }}>{shown(v)}</b></span>);
}

// Boundary shows what went wrong instead of nothing.
class Boundary extends Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  render() { return this.state.error ? <pre style={{ color: "red" }}>{this.state.error.stack}</pre> : this.props.children; }
}

const lines = Math.max(...dashboard.panels.map((p) => p.gridPos.y + p.gridPos.h));
async function draw() {
  await initPluginTranslations("kvshadow");
  await document.fonts.load("12px Inter"); // else axes are measured with another
  createRoot(document.getElementById("root")).render(<Boundary><ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <div style={{ margin: "8px 12px", color: GREY, height: HEAD - 16, fontSize: 13 }}>
      <div style={{ color: "#fff", fontSize: 20, fontWeight: 500 }}>{dashboard.title}</div>
      <Variables />
    </div>
    <div style={{ position: "relative", margin: "0 12px", height: lines * LINE }}>{dashboard.panels.map((p) => <Panel key={p.id} panel={p} />)}</div>
  </ThemeContext.Provider></Boundary>);
}

draw();
