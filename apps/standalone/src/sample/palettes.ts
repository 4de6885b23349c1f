/** Red, green and blue, each 0 to 1 in linear light, so that blends of two colours look right. */
export type Colour = readonly [red: number, green: number, blue: number];

/** Colours at even distances on a circle: the last one blends into the first. */
const STOPS = {
  lagoon: ['#04132e', '#0b4f8a', '#2fb6c4', '#f3f7d4', '#f5b14c', '#8a3b12', '#1d0d1f'],
  ember: ['#120309', '#5c0f22', '#c8341c', '#f79a2b', '#fff1c4', '#e0703a', '#4a1030'],
  aurora: ['#050b1f', '#0e3b5e', '#14a08a', '#a6f0a0', '#f4f5ff', '#b57be8', '#46207a'],
  graphite: ['#0c0d10', '#3b4250', '#8b94a3', '#f2f1ec', '#a89f92', '#4a443e', '#1a181a'],
} as const;

export type PaletteName = keyof typeof STOPS;

export const PALETTE_NAMES: readonly string[] = Object.keys(STOPS);
export const isPaletteName = (text: string): text is PaletteName => PALETTE_NAMES.includes(text);

/** The colour at a position on the circle. Every whole number is the same position. */
export const palette = (name: PaletteName): ((position: number) => Colour) => {
  const stops = STOPS[name].map(linearOf);
  return (position) => {
    const along = (position - Math.floor(position)) * stops.length;
    const from = stops[Math.floor(along) % stops.length] ?? [0, 0, 0];
    const to = stops[(Math.floor(along) + 1) % stops.length] ?? [0, 0, 0];
    return blend(from, to, smooth(along - Math.floor(along)));
  };
};

export const blend = (from: Colour, to: Colour, share: number): Colour => [
  from[0] + (to[0] - from[0]) * share,
  from[1] + (to[1] - from[1]) * share,
  from[2] + (to[2] - from[2]) * share,
];

/** 0 to 255, as an sRGB picture stores it. */
export const byteOf = (linear: number): number => {
  const bounded = Math.min(1, Math.max(0, linear));
  const encoded = bounded <= 0.0031308 ? bounded * 12.92 : 1.055 * bounded ** (1 / 2.4) - 0.055;
  return Math.round(encoded * 255);
};

const smooth = (share: number): number => share * share * (3 - 2 * share);

const linearOf = (hex: string): Colour => [
  decode(hex.slice(1, 3)),
  decode(hex.slice(3, 5)),
  decode(hex.slice(5, 7)),
];

const decode = (pair: string): number => {
  const encoded = Number.parseInt(pair, 16) / 255;
  return encoded <= 0.04045 ? encoded / 12.92 : ((encoded + 0.055) / 1.055) ** 2.4;
};
