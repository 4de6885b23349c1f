import type { Limits } from '../../residents/lifecycle.decide.ts';

const DEFAULT_START_TIMEOUT_S = 300;
/** A timer cannot wait longer than 24 days. */
const MAX_TIMEOUT_S = 7 * 24 * 3_600;
const RESIDENT_ONLY = ['start_timeout_s', 'idle_timeout_s', 'max_runs', 'preload'];

/** The limits of a resident program in the allow-list, null for `"mode": "once"`, or what is wrong, after the name of the program. */
export const readLimits = (given: Readonly<Record<string, unknown>>): Limits | null | string => {
  const { mode = 'once' } = given;
  if (mode === 'once') {
    const name = RESIDENT_ONLY.find((member) => Object.hasOwn(given, member));
    return name === undefined ? null : `which has ${name}, but not the mode "resident"`;
  }
  if (mode !== 'resident') return 'whose mode is neither "once" nor "resident"';
  const {
    start_timeout_s = DEFAULT_START_TIMEOUT_S,
    idle_timeout_s = null,
    max_runs = null,
    preload = false,
  } = given;
  if (!isTimeout(start_timeout_s)) return notTimeout('start_timeout_s');
  if (idle_timeout_s !== null && !isTimeout(idle_timeout_s)) return notTimeout('idle_timeout_s');
  if (max_runs !== null && !isCount(max_runs)) return 'whose max_runs is not a positive integer';
  if (typeof preload !== 'boolean') return 'whose preload is neither true nor false';
  if (preload && idle_timeout_s !== null)
    return 'which has preload and idle_timeout_s: it would be loaded only to be stopped again';
  return {
    startTimeoutMs: start_timeout_s * 1_000,
    idleTimeoutMs: idle_timeout_s === null ? null : idle_timeout_s * 1_000,
    maxRuns: max_runs,
    preload,
  };
};

const isTimeout = (value: unknown): value is number =>
  typeof value === 'number' && value > 0 && value <= MAX_TIMEOUT_S;

const notTimeout = (name: string): string =>
  `whose ${name} is not a number of seconds up to ${MAX_TIMEOUT_S}`;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
