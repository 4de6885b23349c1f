import { isJsonObject } from '@runledger/contracts/json';
import { PALETTE_NAMES, isPaletteName } from './palettes.ts';
import type { PaletteName } from './palettes.ts';

export interface RenderInputs {
  /** Width and height in pixels. */
  readonly size: number;
  readonly iterations: number;
  readonly palette: PaletteName;
  /** How long the work should take at least. */
  readonly seconds: number;
}

export type ReadInputs =
  | { readonly ok: true; readonly inputs: RenderInputs }
  | { readonly ok: false; readonly problems: readonly string[] };

interface Bounds {
  readonly type: 'integer' | 'number';
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
  readonly description: string;
}

export const NUMBERS = {
  size: {
    type: 'integer',
    minimum: 16,
    maximum: 2048,
    default: 512,
    description: 'Width and height of the picture in pixels, 16 to 2048.',
  },
  iterations: {
    type: 'integer',
    minimum: 16,
    maximum: 5000,
    default: 1500,
    description: 'How long a point is followed before it counts as inside, 16 to 5000.',
  },
  seconds: {
    type: 'number',
    minimum: 0,
    maximum: 600,
    default: 3,
    description: 'About how long the work should take in seconds, 0 to 600.',
  },
} as const satisfies Record<string, Bounds>;

export const PALETTE = {
  default: 'lagoon',
  description: `The colours: ${PALETTE_NAMES.join(', ')}.`,
} as const;

/** Checks the inputs of a run, and names all problems at once. Ignores unknown names. */
export const readInputs = (given: unknown): ReadInputs => {
  if (!isJsonObject(given))
    return { ok: false, problems: [`inputs is ${describe(given)}; it must be an object.`] };
  const problems: string[] = [];
  const number = (name: keyof typeof NUMBERS): number => {
    const value = member(given, name) ?? NUMBERS[name].default;
    const problem = numberProblem(name, value, NUMBERS[name]);
    if (problem !== undefined) problems.push(problem);
    return typeof value === 'number' ? value : NUMBERS[name].default;
  };
  const size = number('size');
  const iterations = number('iterations');
  const seconds = number('seconds');
  const palette = member(given, 'palette') ?? PALETTE.default;
  if (typeof palette === 'string' && isPaletteName(palette)) {
    return problems.length === 0
      ? { ok: true, inputs: { size, iterations, palette, seconds } }
      : { ok: false, problems };
  }
  const wrong = `palette is ${describe(palette)}; it must be one of ${PALETTE_NAMES.join(', ')}.`;
  return { ok: false, problems: [...problems, wrong] };
};

const numberProblem = (name: string, value: unknown, bounds: Bounds): string | undefined => {
  const isRight =
    typeof value === 'number' &&
    value >= bounds.minimum &&
    value <= bounds.maximum &&
    (bounds.type === 'number' || Number.isInteger(value));
  if (isRight) return undefined;
  const kind = bounds.type === 'integer' ? 'a whole number' : 'a number';
  return `${name} is ${describe(value)}; it must be ${kind} from ${bounds.minimum} to ${bounds.maximum}.`;
};

const describe = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

const member = (value: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(value, name) ? value[name] : undefined;
