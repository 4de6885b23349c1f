import {
  BOTTOM,
  INK,
  LINES,
  SMALL,
  colourOf,
  drawSvg,
  horizontalAxis,
  layout,
  legend,
  titles,
} from './picture.ts';

export interface TimeSeries {
  readonly name: string;
  /** A time and a value; null where there is none. */
  readonly points: readonly (readonly [number, number | null])[];
}

/** Something over time: one panel, or several side by side with the same axes. */
export interface TimePicture {
  readonly title: string;
  readonly subtitle: string;
  readonly kind: 'lines' | 'stacked' | 'points';
  /** Of the vertical axis, with its unit. */
  readonly values: { readonly name: string; readonly max: number };
  readonly time: { readonly unit: 'minutes' | 'hours'; readonly from: number; readonly to: number };
  readonly panels: readonly { readonly title: string; readonly series: readonly TimeSeries[] }[];
  /** A line across, such as how many slots there are. */
  readonly mark?: { readonly name: string; readonly at: number };
}

const HEIGHT = 220;
const VALUE_STEPS = 4;

/** Draws it as SVG. A name has the same colour in each panel. */
export const drawTimes = (picture: TimePicture): string => {
  const { panels, time } = picture;
  const { lefts, top, panelWidth, width } = layout(panels.length);
  const names = [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))];
  const option = {
    title: titles(picture, panels, lefts),
    legend: legend(names, width),
    grid: lefts.map((left) => ({ left, top, width: panelWidth, height: HEIGHT })),
    xAxis: panels.map((_, n) => horizontalAxis(n, `time (${time.unit})`, [time.from, time.to])),
    yAxis: panels.map((_, n) => valueAxis(picture, n)),
    series: seriesOf(picture, names),
  };
  return drawSvg(option, { width, height: top + HEIGHT + BOTTOM });
};

/** A line does not show a point that has no neighbour. */
const withLonePoints = (points: TimeSeries['points']): unknown[] =>
  points.map(([time, value], n) =>
    value !== null && isMissing(points[n - 1]) && isMissing(points[n + 1])
      ? { value: [time, value], symbol: 'circle', symbolSize: 6 }
      : [time, value],
  );

const isMissing = (point: TimeSeries['points'][number] | undefined): boolean => (point?.[1] ?? null) === null;

const valueAxis = ({ values: { name, max } }: TimePicture, n: number): object => ({
  type: 'value',
  gridIndex: n,
  name: n === 0 ? name : '',
  nameLocation: 'middle',
  nameGap: 44,
  nameTextStyle: SMALL,
  min: 0,
  max,
  interval: max / VALUE_STEPS,
  axisLabel: SMALL,
  splitLine: { lineStyle: { color: LINES } },
});

const seriesOf = (picture: TimePicture, names: readonly string[]): object[] =>
  picture.panels.flatMap(({ series }, n) =>
    series.map(({ name, points }, first) => ({
      name,
      xAxisIndex: n,
      yAxisIndex: n,
      silent: true,
      data: picture.kind === 'lines' ? withLonePoints(points) : points,
      ...styleOf(picture, colourOf(names.indexOf(name)), n),
      ...(picture.mark && first === 0 && { markLine: markLine(picture.mark) }),
    })),
  );

const styleOf = ({ kind }: TimePicture, color: string, panel: number): object => {
  const itemStyle = { color };
  if (kind === 'points') return { type: 'scatter', symbolSize: 6, itemStyle: { color, opacity: 1 } };
  const line = { type: 'line', symbol: 'none', showAllSymbol: true, connectNulls: false, itemStyle };
  if (kind === 'lines') return { ...line, lineStyle: { color, width: 2 } };
  const stacked = { stack: `panel ${panel}`, areaStyle: { color, opacity: 1 } };
  return { ...line, ...stacked, step: 'end', lineStyle: { color, width: 0 } };
};

const markLine = ({ name, at }: NonNullable<TimePicture['mark']>): object => ({
  silent: true,
  symbol: 'none',
  data: [{ yAxis: at }],
  lineStyle: { color: INK, type: 'dashed', width: 1 },
  label: { formatter: name, position: 'insideEndTop', ...SMALL },
});
