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
  /** The same for a broker of several. */
  readonly brokerFaultGapMs: readonly [number, number];
  /** How long it stays down, paused or full: elections take longer than a restart. */
  readonly brokerDownMs: readonly [number, number];
  /** So many faults of brokers come, even if that takes longer than the rest. Twelve are one of each kind. */
  readonly leastBrokerFaults: number;
  /** How long a paused process stays paused. */
  readonly pauseMs: readonly [number, number];
  /** A time without faults, now and then, for what happens only while everything runs. */
  readonly calmMs: number;
  /** From one change of the limits of a store to the next, least and most. */
  readonly limitGapMs: readonly [number, number];
  readonly limitedForMs: readonly [number, number];
  /** From one fault of archived objects to the next, and how long it lasts: longer than a gateway waits for one of them. */
  readonly archiveFaultGapMs: readonly [number, number];
  readonly archiveFaultMs: readonly [number, number];
  /** How long a log that forgets keeps its messages. Longer than anything that projects them is away. */
  readonly shortLogAgeMs: number;
  /** So that the archive has what the log forgets, as it has in production: an eighth of that age. */
  readonly archiveAfterMs: number;
  /** What an organisation may use. Only the glutton reaches it. */
  readonly quotas: Quotas;
  readonly heartbeatPeriodS: number;
  readonly cancelGraceS: number;
  readonly cancelEnforceS: number;
  /** After the end of a run, for its notification. */
  readonly giveUpS: number;
  /** After the last fault, for all runs to end and all notifications to be delivered. */
  readonly settleWithinMs: number;
}

interface Quotas {
  readonly queuedRuns: number;
  readonly catalogueRecords: number;
  readonly schedules: number;
  readonly secrets: number;
  readonly workflowBytes: number;
  readonly outputBytes: number;
  readonly blobBytes: number;
  /** Of each gateway, at the same time. */
  readonly files: number;
  readonly fileBytes: number;
  readonly uploads: number;
  readonly streams: number;
}

const MiB = 1024 ** 2;

export const FULL: Size = {
  minutes: 30,
  rate: 4,
  brokers: 1,
  executors: 3,
  slotsPerExecutor: 6,
  faultGapMs: [500, 12_000],
  downMs: [0, 20_000],
  brokerFaultGapMs: [500, 12_000],
  brokerDownMs: [2_000, 30_000],
  leastBrokerFaults: 12,
  pauseMs: [200, 60_000],
  calmMs: 60_000,
  limitGapMs: [10_000, 60_000],
  limitedForMs: [5_000, 60_000],
  archiveFaultGapMs: [5_000, 60_000],
  archiveFaultMs: [12_000, 30_000],
  shortLogAgeMs: 240_000,
  archiveAfterMs: 30_000,
  quotas: {
    queuedRuns: 3_000,
    catalogueRecords: 500,
    schedules: 20,
    secrets: 20,
    workflowBytes: 8 * MiB,
    outputBytes: 32 * MiB,
    blobBytes: 64 * MiB,
    files: 200,
    fileBytes: 4 * MiB,
    uploads: 4,
    streams: 600,
  },
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
  brokerFaultGapMs: [1_000, 9_000],
  brokerDownMs: [2_000, 12_000],
  pauseMs: [200, 6_000],
  calmMs: 15_000,
  limitGapMs: [6_000, 14_000],
  limitedForMs: [5_000, 14_000],
  archiveFaultGapMs: [1_000, 4_000],
  archiveFaultMs: [8_000, 12_000],
  shortLogAgeMs: 60_000,
  archiveAfterMs: 5_000,
  quotas: {
    queuedRuns: 250,
    catalogueRecords: 100,
    schedules: 10,
    secrets: 10,
    workflowBytes: 2 * MiB,
    outputBytes: 4 * MiB,
    blobBytes: 4 * MiB,
    files: 60,
    fileBytes: 2 * MiB,
    uploads: 3,
    streams: 100,
  },
  heartbeatPeriodS: 3,
  cancelEnforceS: 8,
  giveUpS: 120,
  settleWithinMs: 240_000,
};

/** For what three brokers do without one of them. The limits of stores stay as they are. */
export const BRIEF: Size = {
  ...SMALL,
  minutes: 0.4,
  rate: 1,
  executors: 2,
  faultGapMs: [4_000, 10_000],
  brokerFaultGapMs: [1_000, 3_000],
  brokerDownMs: [4_000, 6_000],
  leastBrokerFaults: 2,
  calmMs: 5_000,
  limitGapMs: [60_000, 60_000],
  quotas: { ...SMALL.quotas, queuedRuns: 150, streams: 60 },
};
