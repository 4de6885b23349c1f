import { PAPER, colourOf, drawPanels, type Picture } from './picture.ts';

/** A run in its slot, or another span of time in its row. Times are in minutes. */
export interface SlotBar {
  readonly slot: number;
  readonly from: number;
  readonly to: number;
  /** One of the legend. */
  readonly name: string;
}

/** Who holds which slot when: a row for each slot, or for what else the picture is about, panels side by side. */
export interface SlotPicture extends Picture<{ readonly bars: readonly SlotBar[] }> {
  readonly slots: number;
  /** What the rows are; slots by default. */
  readonly rows?: string;
  readonly untilMinutes: number;
  readonly names: readonly string[];
}

const ROW = 20;

interface CustomApi {
  readonly value: (dimension: number) => number;
  readonly coord: (point: readonly [number, number]) => [number, number];
}

/** Draws it as SVG. */
export const drawSlots = (picture: SlotPicture): string =>
  drawPanels(picture, {
    names: picture.names,
    height: picture.slots * ROW,
    time: { unit: 'minutes', from: 0, to: picture.untilMinutes },
    axis: rowAxis(picture),
    seriesOf: ({ bars }) =>
      picture.names.map((name, at) => ({
        name,
        type: 'custom',
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
  });

const rowAxis = ({ slots, rows = 'slots' }: SlotPicture) => ({
  name: rows,
  nameGap: 24,
  min: -0.5,
  max: slots - 0.5,
  inverse: true,
  axisLabel: { show: false },
  axisTick: { show: false },
  axisLine: { show: false },
  splitLine: { show: false },
  nameRotate: 90,
});
