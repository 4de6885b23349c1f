import { FAINT_INK, INK } from './palette.ts';

/** What all pictures have in common: titles, panels side by side, a horizontal axis, a legend. Lengths are in pixels. */

const LEFT = 64;
const RIGHT = 24;
export const BOTTOM = 80;
const PANEL_WIDTH = 420;
const GAP = 40;

const FONT = { color: INK, fontFamily: 'sans-serif' };
export const SMALL = { color: FAINT_INK, fontFamily: 'sans-serif', fontSize: 12 };

/** Titles of panels need room. */
const topOf = (panels: number): number => (panels === 1 ? 60 : 92);

export interface PanelLayout {
  readonly top: number;
  readonly lefts: readonly number[];
  readonly panelWidth: number;
  readonly width: number;
}

/** One panel is as wide as two. */
export const layout = (panels: number): PanelLayout => {
  const panelWidth = panels === 1 ? 2 * PANEL_WIDTH + GAP : PANEL_WIDTH;
  return {
    lefts: Array.from({ length: panels }, (_, n) => LEFT + n * (panelWidth + GAP)),
    top: topOf(panels),
    panelWidth,
    width: LEFT + panels * (panelWidth + GAP) - GAP + RIGHT,
  };
};

interface Titled {
  readonly title: string;
  /** What one sees. */
  readonly subtitle: string;
}

export const titles = (
  { title, subtitle }: Titled,
  panels: readonly { readonly title: string }[],
  lefts: readonly number[],
): object[] => [
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

export const legend = (names: readonly string[], width: number): object => ({
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

export const horizontalAxis = (
  panel: number,
  name: string,
  [min, max]: readonly [number, number],
): object => ({
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
