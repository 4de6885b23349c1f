import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

/** Of Okabe and Ito (https://jfly.uni-koeln.de/color/): people who do not see some colours can tell them apart. */
const SERIES = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#8a7400',
  '#7f7f7f',
] as const;

export const INK = '#1f2328';
const FAINT_INK = '#59636e';
export const LINES = '#d1d9e0';
export const PAPER = '#ffffff';

/** The most series that a picture tells apart. */
export const MAX_SERIES = SERIES.length;

export const colourOf = (series: number): string => SERIES[series % SERIES.length] ?? INK;

/** What a dark page shows instead. The other colours of series are clear on both. */
const DARK: ReadonlyMap<string, string> = new Map([
  [INK, '#e6edf3'],
  [FAINT_INK, '#9198a1'],
  [LINES, '#30363d'],
  [PAPER, '#0d1117'],
  ['#0072b2', '#3d9bdb'],
  ['#8a7400', '#c5ab1c'],
]);

use([
  CustomChart,
  LineChart,
  ScatterChart,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  SVGRenderer,
]);

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The same option gives the same text. It is for light pages, and for dark ones by the settings of the reader. */
const drawSvg = (option: EChartsCoreOption, size: Size): string => {
  const chart = init(null, null, { renderer: 'svg', ssr: true, ...size });
  try {
    chart.setOption({ animation: false, backgroundColor: PAPER, ...option });
    return forPages(chart.renderToSVGString());
  } finally {
    chart.dispose();
  }
};

/** Without what a page with scripts needs, and what counts all pictures of the process. */
const forPages = (svg: string): string => {
  const clips = new Map<string, string>();
  const clip = (id: string): string => {
    const known = clips.get(id) ?? `clip-${clips.size}`;
    clips.set(id, known);
    return known;
  };
  const plain = svg
    .replace(/<style >.*?<\/style>\n?/s, '')
    .replaceAll(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
    .replaceAll(/zr\d+-c\d+/g, clip);
  return `${plain.replace(/(<svg [^>]*>)/, `$1\n${DARK_STYLE}`).trimEnd()}\n`;
};

const DARK_STYLE = `<style>@media (prefers-color-scheme: dark) {${[...DARK]
  .map(([light, dark]) => ` [fill="${light}"] { fill: ${dark}; } [stroke="${light}"] { stroke: ${dark}; }`)
  .join('')} }</style>`;

/** What all pictures have in common: titles, panels side by side, a horizontal axis, a legend. Lengths are in pixels. */

const LEFT = 64;
const RIGHT = 24;
const BOTTOM = 80;
const PANEL_WIDTH = 420;
const GAP = 40;

const FONT = { color: INK, fontFamily: 'sans-serif' };
export const SMALL = { color: FAINT_INK, fontFamily: 'sans-serif', fontSize: 12 };

/** Titles of panels need room. */
const topOf = (panels: number): number => (panels === 1 ? 60 : 92);

interface PanelLayout {
  readonly top: number;
  readonly lefts: readonly number[];
  readonly panelWidth: number;
  readonly width: number;
}

/** One panel is as wide as two. */
const layout = (panels: number): PanelLayout => {
  const panelWidth = panels === 1 ? 2 * PANEL_WIDTH + GAP : PANEL_WIDTH;
  return {
    lefts: Array.from({ length: panels }, (_, n) => LEFT + n * (panelWidth + GAP)),
    top: topOf(panels),
    panelWidth,
    width: LEFT + panels * (panelWidth + GAP) - GAP + RIGHT,
  };
};

/** One panel, or several side by side with the same axes. */
export interface Picture<Panel> {
  readonly title: string;
  /** What one sees. */
  readonly subtitle: string;
  readonly panels: readonly (Panel & { readonly title: string })[];
}

interface Drawn<Panel> {
  /** Of the legend: one has the same colour in each panel. */
  readonly names: readonly string[];
  readonly height: number;
  readonly time: { readonly unit: string; readonly from: number; readonly to: number };
  /** The vertical axis. Only the first panel names it. */
  readonly axis: Readonly<Record<string, unknown>> & { readonly name: string };
  readonly seriesOf: (panel: Panel, at: number) => readonly object[];
}

/** Draws panels as SVG. */
export const drawPanels = <Panel>(
  picture: Picture<Panel>,
  { names, height, time, axis, seriesOf }: Drawn<Panel>,
): string => {
  const { panels } = picture;
  const { lefts, top, panelWidth, width } = layout(panels.length);
  const option = {
    title: titles(picture, lefts),
    legend: legend(names, width),
    grid: lefts.map((left) => ({ left, top, width: panelWidth, height })),
    xAxis: lefts.map((_, n) => horizontalAxis(n, `time (${time.unit})`, [time.from, time.to])),
    yAxis: lefts.map((_, n) => ({
      type: 'value',
      gridIndex: n,
      nameLocation: 'middle',
      nameTextStyle: SMALL,
      ...axis,
      name: n === 0 ? axis.name : '',
    })),
    series: panels.flatMap((panel, n) =>
      seriesOf(panel, n).map((series) => ({ xAxisIndex: n, yAxisIndex: n, silent: true, ...series })),
    ),
  };
  return drawSvg(option, { width, height: top + height + BOTTOM });
};

const titles = ({ title, subtitle, panels }: Picture<unknown>, lefts: readonly number[]): object[] => [
  {
    text: title,
    subtext: subtitle,
    left: LEFT,
    top: 10,
    padding: 0,
    itemGap: 6,
    textStyle: { ...FONT, fontSize: 16, fontWeight: 'bold' },
    subtextStyle: { ...SMALL, fontSize: 13 },
  },
  ...panels
    .filter(() => panels.length > 1)
    .map((panel, n) => ({
      text: panel.title,
      left: lefts[n],
      top: 64,
      padding: 0,
      textStyle: { ...FONT, fontSize: 13, fontWeight: 'bold' },
    })),
];

const legend = (names: readonly string[], width: number): object => ({
  bottom: 8,
  left: 'center',
  width: width - 2 * LEFT,
  itemWidth: 14,
  itemHeight: 10,
  // The library estimates the widths of texts, and cannot know the font of the reader.
  itemGap: 32,
  icon: 'roundRect',
  textStyle: SMALL,
  data: [...names],
});

const horizontalAxis = (panel: number, name: string, [min, max]: readonly [number, number]): object => ({
  type: 'value',
  gridIndex: panel,
  name,
  nameLocation: 'middle',
  nameGap: 26,
  nameTextStyle: SMALL,
  min,
  max,
  axisLabel: SMALL,
  axisLine: { show: true, onZero: false, lineStyle: { color: FAINT_INK } },
  axisTick: { show: true, lineStyle: { color: FAINT_INK } },
  splitLine: { show: false },
});
