import { drawSvg } from './draw-svg.ts';
import { BOTTOM, layout, SMALL, titles } from './layout.ts';
import { colourOf, FAINT_INK, LINES } from './palette.ts';

/** How values change with the size of something: panels side by side, each with an axis of its own. */
export interface GrowthPicture {
  readonly title: string;
  readonly subtitle: string;
  /** What grows. */
  readonly of: string;
  readonly sizes: readonly number[];
  readonly panels: readonly {
    readonly title: string;
    /** The lowest, the median and the highest at each size. */
    readonly points: readonly (readonly [number, number, number])[];
  }[];
}

const HEIGHT = 180;

/** Draws it as SVG. Sizes are at equal distances. */
export const drawGrowth = (picture: GrowthPicture): string => {
  const { panels, sizes, of } = picture;
  const { lefts, top, panelWidth, width } = layout(panels.length);
  const option = {
    title: titles(picture, panels, lefts),
    grid: lefts.map((left) => ({ left, top, width: panelWidth, height: HEIGHT })),
    xAxis: panels.map((_, n) => ({
      type: 'category',
      gridIndex: n,
      data: sizes.map((size) => size.toLocaleString('en-GB')),
      name: of,
      nameLocation: 'middle',
      nameGap: 26,
      nameTextStyle: SMALL,
      axisLabel: SMALL,
      axisLine: { lineStyle: { color: FAINT_INK } },
      axisTick: { show: false },
    })),
    yAxis: panels.map((_, n) => ({
      type: 'value',
      gridIndex: n,
      min: 0,
      axisLabel: { ...SMALL, formatter: shortOf },
      splitLine: { lineStyle: { color: LINES } },
    })),
    series: panels.flatMap(({ points }, n) =>
      points.length === 0 ? [] : [medians(n, points), ...bounds(n, points)],
    ),
  };
  return drawSvg(option, { width, height: top + HEIGHT + BOTTOM });
};

/** As narrow as the place between two panels. */
const shortOf = (value: number): string => (value >= 1_000 ? `${value / 1_000}k` : String(value));

type Points = GrowthPicture['panels'][number]['points'];

const medians = (n: number, points: Points): object => ({
  type: 'line',
  xAxisIndex: n,
  yAxisIndex: n,
  silent: true,
  symbol: 'circle',
  symbolSize: 6,
  itemStyle: { color: colourOf(0) },
  lineStyle: { color: colourOf(0), width: 2 },
  data: points.map(([, median]) => median),
});

const bounds = (n: number, points: Points): object[] =>
  ([0, 2] as const).map((at) => ({
    type: 'line',
    xAxisIndex: n,
    yAxisIndex: n,
    silent: true,
    symbol: 'none',
    lineStyle: { color: colourOf(0), width: 1, type: 'dashed' },
    data: points.map((point) => point[at]),
  }));
