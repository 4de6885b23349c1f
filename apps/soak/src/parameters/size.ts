/** How much is done to how many. Times are in milliseconds unless their names say otherwise. */
export interface Size {
  /** For so long runs are queued and processes are struck. */
  readonly minutes: number;
  /** Runs a second. */
  readonly rate: number;
  readonly executors: number;
  readonly slotsOfEach: number;
  /** From one blow to the next, at least and at most. */
  readonly gap: readonly [number, number];
  /** How long what is killed or stopped stays away. */
  readonly away: readonly [number, number];
  /** How long what is paused stands still. */
  readonly pause: readonly [number, number];
  /** A pause without blows, now and then, in which what holds only while everything lives can be seen. */
  readonly calm: number;
  readonly heartbeatPeriodS: number;
  readonly cancelGraceS: number;
  readonly cancelEnforceS: number;
  /** After the last blow, for everything to end and to be told. */
  readonly quietWithin: number;
}

export const FULL: Size = {
  minutes: 30,
  rate: 4,
  executors: 3,
  slotsOfEach: 6,
  gap: [500, 12_000],
  away: [0, 20_000],
  pause: [200, 60_000],
  calm: 60_000,
  heartbeatPeriodS: 6,
  cancelGraceS: 2,
  cancelEnforceS: 12,
  quietWithin: 900_000,
};

export const SMALL: Size = {
  minutes: 4,
  rate: 1.5,
  executors: 3,
  slotsOfEach: 3,
  gap: [1_000, 9_000],
  away: [0, 4_000],
  pause: [200, 6_000],
  calm: 15_000,
  heartbeatPeriodS: 3,
  cancelGraceS: 2,
  cancelEnforceS: 8,
  quietWithin: 240_000,
};
