/** How large a soak is. Times are in milliseconds unless the name has another unit. */
export interface Size {
  /** How long clients queue runs and faults are injected. */
  readonly minutes: number;
  /** Runs a second. */
  readonly rate: number;
  /** One, or three that hold a copy of everything each. */
  readonly brokers: number;
  readonly executors: number;
  readonly slotsPerExecutor: number;
  /** From one fault to the next, least and most. */
  readonly faultGapMs: readonly [number, number];
  /** How long a killed or stopped process stays down. */
  readonly downMs: readonly [number, number];
  /** The same, and how long it stays paused, for a broker of several: elections take longer than a restart. */
  readonly brokerDownMs: readonly [number, number];
  /** How long a paused process stays paused. */
  readonly pauseMs: readonly [number, number];
  /** A time without faults, now and then, for what happens only while everything runs. */
  readonly calmMs: number;
  readonly heartbeatPeriodS: number;
  readonly cancelGraceS: number;
  readonly cancelEnforceS: number;
  /** After the end of a run, for its notification. */
  readonly giveUpS: number;
  /** After the last fault, for all runs to end and all notifications to be delivered. */
  readonly settleWithinMs: number;
}

export const FULL: Size = {
  minutes: 30,
  rate: 4,
  brokers: 1,
  executors: 3,
  slotsPerExecutor: 6,
  faultGapMs: [500, 12_000],
  downMs: [0, 20_000],
  brokerDownMs: [2_000, 30_000],
  pauseMs: [200, 60_000],
  calmMs: 60_000,
  heartbeatPeriodS: 6,
  cancelGraceS: 2,
  cancelEnforceS: 12,
  giveUpS: 300,
  settleWithinMs: 900_000,
};

export const SMALL: Size = {
  ...FULL,
  minutes: 4,
  rate: 1.5,
  slotsPerExecutor: 3,
  faultGapMs: [1_000, 9_000],
  downMs: [0, 4_000],
  brokerDownMs: [2_000, 12_000],
  pauseMs: [200, 6_000],
  calmMs: 15_000,
  heartbeatPeriodS: 3,
  cancelEnforceS: 8,
  giveUpS: 120,
  settleWithinMs: 240_000,
};
