import { drawSvg } from './draw-svg.ts';
import { SMALL, titles } from './layout.ts';
import { threeDigits } from './three-digits.ts';
import { FAINT_INK, INK, LINES, colourOf } from './palette.ts';

export interface Bar {
  readonly name: string;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** A bar for each value, with a line from the lowest to the highest that was measured. */
export interface BarPicture {
  readonly title: string;
  readonly subtitle: string;
  readonly unit: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 900;
const LEFT = 330;
const RIGHT = 110;
const TOP = 64;
const BOTTOM = 44;
const ROW = 26;

/** Draws it as SVG. */
export const drawBars = ({ title, subtitle, unit, bars }: BarPicture): string => {
  const height = bars.length * ROW;
  const option = {
    title: titles({ title, subtitle }, [], []),
    grid: { left: LEFT, top: TOP, width: WIDTH - LEFT - RIGHT, height },
    xAxis: {
      type: 'value',
      min: 0,
      name: unit,
      nameLocation: 'middle',
      nameGap: 26,
      nameTextStyle: SMALL,
      axisLabel: SMALL,
      splitLine: { lineStyle: { color: LINES } },
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: bars.map(({ name }) => name),
      axisLabel: { ...SMALL, color: INK },
      axisTick: { show: false },
      axisLine: { lineStyle: { color: FAINT_INK } },
    },
    series: [
      {
        type: 'bar',
        silent: true,
        barWidth: ROW - 10,
        itemStyle: { color: colourOf(0) },
        data: bars.map(({ median }) => median),
      },
      {
        type: 'custom',
        silent: true,
        data: bars.map(({ lowest, highest, median }, row) => [lowest, highest, row, median]),
        renderItem: (_params: unknown, api: CustomApi) => spreadLine(api),
      },
    ],
  };
  return drawSvg(option, { width: WIDTH, height: TOP + height + BOTTOM });
};

interface CustomApi {
  readonly value: (dimension: number) => number;
  readonly coord: (point: readonly [number, number]) => [number, number];
}

/** With the median behind it. */
const spreadLine = (api: CustomApi): object => {
  const [from, y] = api.coord([api.value(0), api.value(2)]);
  const [to] = api.coord([api.value(1), api.value(2)]);
  const line = (x1: number, y1: number, x2: number, y2: number): object => ({
    type: 'line',
    shape: { x1, y1, x2, y2 },
    style: { stroke: INK, lineWidth: 1.5 },
  });
  const median = { x: to + 8, y, text: threeDigits(api.value(3)), fill: INK, font: '12px sans-serif' };
  return {
    type: 'group',
    children: [
      line(from, y, to, y),
      line(from, y - 4, from, y + 4),
      line(to, y - 4, to, y + 4),
      { type: 'text', style: { ...median, textVerticalAlign: 'middle' } },
    ],
  };
};
