import { INK, LINES, SMALL, colourOf, drawPanels, type Picture } from './picture.ts';

export interface TimeSeries {
  readonly name: string;
  /** A time and a value; null where there is none. */
  readonly points: readonly (readonly [number, number | null])[];
}

/** Something over time. */
export interface TimePicture extends Picture<{ readonly series: readonly TimeSeries[] }> {
  readonly kind: 'lines' | 'stacked' | 'points';
  /** Of the vertical axis, with its unit. */
  readonly values: { readonly name: string; readonly max: number };
  readonly time: { readonly unit: 'minutes' | 'hours'; readonly from: number; readonly to: number };
  /** A line across, such as how many slots there are. */
  readonly mark?: { readonly name: string; readonly at: number };
}

const HEIGHT = 220;
const VALUE_STEPS = 4;

/** Draws it as SVG. A name has the same colour in each panel. */
export const drawTimes = (picture: TimePicture): string => {
  const { panels, time, values, kind, mark } = picture;
  const names = [...new Set(panels.flatMap(({ series }) => series.map(({ name }) => name)))];
  return drawPanels(picture, {
    names,
    height: HEIGHT,
    time,
    axis: {
      name: values.name,
      nameGap: 44,
      min: 0,
      max: values.max,
      interval: values.max / VALUE_STEPS,
      axisLabel: SMALL,
      splitLine: { lineStyle: { color: LINES } },
    },
    seriesOf: ({ series }, panel) =>
      series.map(({ name, points }, first) => ({
        name,
        data: kind === 'lines' ? withLonePoints(points) : points,
        ...styleOf(kind, colourOf(names.indexOf(name)), panel),
        ...(mark && first === 0 && { markLine: markLine(mark) }),
      })),
  });
};

/** A line does not show a point that has no neighbour. */
const withLonePoints = (points: TimeSeries['points']): unknown[] =>
  points.map(([time, value], n) =>
    value !== null && isMissing(points[n - 1]) && isMissing(points[n + 1])
      ? { value: [time, value], symbol: 'circle', symbolSize: 6 }
      : [time, value],
  );

const isMissing = (point: TimeSeries['points'][number] | undefined): boolean => (point?.[1] ?? null) === null;

const styleOf = (kind: TimePicture['kind'], color: string, panel: number): object => {
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
