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
export const FAINT_INK = '#59636e';
export const LINES = '#d1d9e0';
export const PAPER = '#ffffff';

/** The most series that a picture tells apart. */
export const MAX_SERIES = SERIES.length;

export const colourOf = (series: number): string => SERIES[series % SERIES.length] ?? INK;

/** What a dark page shows instead. The other colours of series are clear on both. */
export const DARK: ReadonlyMap<string, string> = new Map([
  [INK, '#e6edf3'],
  [FAINT_INK, '#9198a1'],
  [LINES, '#30363d'],
  [PAPER, '#0d1117'],
  ['#0072b2', '#3d9bdb'],
  ['#8a7400', '#c5ab1c'],
]);
