import {
  BOTTOM,
  FAINT_INK,
  PAPER,
  colourOf,
  drawSvg,
  horizontalAxis,
  layout,
  legend,
  titles,
} from './picture.ts';

/** A run in its slot, or another span of time in its row. Times are in minutes. */
export interface SlotBar {
  readonly slot: number;
  readonly from: number;
  readonly to: number;
  /** One of the legend. */
  readonly name: string;
}

/** Who holds which slot when: a row for each slot, or for what else the picture is about, panels side by side. */
export interface SlotPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly slots: number;
  /** What the rows are; slots by default. */
  readonly rows?: string;
  readonly untilMinutes: number;
  readonly names: readonly string[];
  readonly panels: readonly { readonly title: string; readonly bars: readonly SlotBar[] }[];
}

const ROW = 20;

interface CustomApi {
  readonly value: (dimension: number) => number;
  readonly coord: (point: readonly [number, number]) => [number, number];
}

/** Draws it as SVG. */
export const drawSlots = (picture: SlotPicture): string => {
  const { slots, rows = 'slots', names, panels, untilMinutes } = picture;
  const height = slots * ROW;
  const { lefts, top, panelWidth, width } = layout(panels.length);
  const option = {
    title: titles(picture, panels, lefts),
    legend: legend(names, width),
    grid: lefts.map((left) => ({ left, top, width: panelWidth, height })),
    xAxis: panels.map((_, n) => horizontalAxis(n, 'time (minutes)', [0, untilMinutes])),
    yAxis: panels.map((_, n) => rowAxis(n, slots, rows)),
    series: panels.flatMap(({ bars }, n) =>
      names.map((name, at) => ({
        name,
        type: 'custom',
        xAxisIndex: n,
        yAxisIndex: n,
        silent: true,
        clip: true,
        itemStyle: { color: colourOf(at) },
        data: bars.filter((bar) => bar.name === name).map(({ slot, from, to }) => [from, to, slot]),
        renderItem: (_params: unknown, api: CustomApi) => {
          const [x, y] = api.coord([api.value(0), api.value(2)]);
          const [right] = api.coord([api.value(1), api.value(2)]);
          return {
            type: 'rect',
            shape: { x, y: y - ROW / 2 + 2, width: right - x, height: ROW - 4 },
            style: { fill: colourOf(at), stroke: PAPER, lineWidth: 1 },
          };
        },
      })),
    ),
  };
  return drawSvg(option, { width, height: top + height + BOTTOM });
};

const rowAxis = (n: number, slots: number, rows: string): object => ({
  type: 'value',
  gridIndex: n,
  name: n === 0 ? rows : '',
  nameLocation: 'middle',
  nameGap: 24,
  nameTextStyle: { color: FAINT_INK, fontFamily: 'sans-serif', fontSize: 12 },
  min: -0.5,
  max: slots - 0.5,
  inverse: true,
  axisLabel: { show: false },
  axisTick: { show: false },
  axisLine: { show: false },
  splitLine: { show: false },
  nameRotate: 90,
});
