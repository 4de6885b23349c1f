import { DeliveryAttemptResult } from '@runledger/contracts/events/webhook-event';
import { Type, type Static } from 'typebox';

/** Everything that a simulation begins with: the same plan gives the same simulation, step by step. Times are in milliseconds. */

const Index = Type.Integer({ minimum: 0 });
const Ms = Type.Number({ minimum: 0 });
const Seconds = Type.Number({ exclusiveMinimum: 0 });
/** How fast a clock goes; 1 is right. */
const ClockRate = Type.Number({ minimum: 0.5, maximum: 2 });

const PlannedOrganisation = Type.Object({
  weight: Type.Number({ exclusiveMinimum: 0 }),
  /** The most slots that it holds; no limit when it is left out. */
  limit: Type.Optional(Type.Integer({ minimum: 1 })),
});
export type PlannedOrganisation = Static<typeof PlannedOrganisation>;

const PlannedDeployment = Type.Object({
  organisation: Index,
  /** Another one of the plan, of which these are other settings: it was changed, or its requests differ. */
  of: Type.Optional(Index),
  gpu: Type.String(),
  /** Other models that its runs take, in order, each from so many seconds of waiting on. */
  gpu_fallbacks: Type.Optional(
    Type.Array(Type.Object({ gpu: Type.String(), after_s: Type.Number({ minimum: 0 }) })),
  ),
  /** Of the executors that can execute it. */
  labels: Type.Optional(Type.Array(Type.String())),
  /** Names its workflow version, which stays loaded in a slot after a run; left out when nothing stays. */
  version: Type.Optional(Index),
  /** The version has code, which stays on the disk of each executor that has begun it. */
  code: Type.Optional(Type.Literal(true)),
  /** How long its runs leave free slots to others, while a busy one has their version. */
  warm_wait_s: Type.Optional(Seconds),
  weight: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  concurrency_limit: Type.Optional(Type.Integer({ minimum: 1 })),
  max_attempts: Type.Integer({ minimum: 1 }),
  start_deadline_s: Seconds,
  run_timeout_s: Seconds,
});
export type PlannedDeployment = Static<typeof PlannedDeployment>;

const PlannedExecutor = Type.Object({
  /** The GPU model of each slot. */
  slots: Type.Array(Type.String(), { minItems: 1 }),
  labels: Type.Optional(Type.Array(Type.String())),
  clockRate: Type.Optional(ClockRate),
});
export type PlannedExecutor = Static<typeof PlannedExecutor>;

const PlannedScheduler = Type.Object({ clockRate: Type.Optional(ClockRate) });

/** A log that forgets, and a gateway that keeps views of its runs, archives their facts, and ends runs that outlive it. */
const PlannedGateway = Type.Object({
  /** How long the log keeps its messages. */
  logAgeMs: Type.Number({ minimum: 10_000 }),
  /** How old facts become before they are archived; left out without an archive. */
  archiveAfterMs: Type.Optional(Ms),
});
export type PlannedGateway = Static<typeof PlannedGateway>;

/** A notifier, and how each receiver answers, one of these at a time by chance; when all faults are over, receivers accept. */
const PlannedNotifier = Type.Object({
  maxInFlight: Type.Integer({ minimum: 1 }),
  /** How many deliveries TIMERS has room for; no limit when it is left out. */
  capacity: Type.Optional(Index),
  receivers: Type.Array(Type.Array(Type.Object({ reason: DeliveryAttemptResult, afterMs: Ms }))),
});
export type PlannedNotifier = Static<typeof PlannedNotifier>;

const PlannedRun = Type.Object({
  /** Names the run, also when others are removed from the plan. */
  id: Index,
  atMs: Ms,
  deployment: Index,
  /** How long an attempt executes if nothing stops it. */
  durationMs: Ms,
  /** How long an attempt loads before it executes, unless its slot has the version loaded. */
  loadMs: Ms,
  /** It starts so long after it was queued at the earliest. */
  delay_s: Type.Optional(Seconds),
  /** Instead: at this time at the earliest, by a right clock. */
  startAtMs: Type.Optional(Ms),
  priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
  key: Type.Optional(Type.String()),
  /** So many attempts crash, and may be tried again. */
  crashes: Type.Optional(Type.Integer({ minimum: 1 })),
  /** It leaves files, which are stored before its end. */
  files: Type.Optional(Type.Boolean()),
  /** A client cancels it so long after it was queued. */
  cancelAfterMs: Type.Optional(Ms),
  /** The receiver of its final notification. */
  webhook: Type.Optional(Index),
  /** It wants intermediate notifications too. */
  notices: Type.Optional(Type.Boolean()),
  /** Its final notification is requested once more, so long after it was settled. */
  redeliverAfterMs: Type.Optional(Ms),
});
export type PlannedRun = Static<typeof PlannedRun>;

const FAULT_KINDS = [
  'kill',
  'stop',
  'pause',
  'cut',
  'lag',
  'hold',
  'drain',
  'broker_change',
  'broker_down',
  'no_room',
  'full',
  'short_log',
  'archive_down',
  'archive_slow',
  'old_views',
  'lose_timers',
  'stall_timers',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

const PlannedFault = Type.Object({
  atMs: Ms,
  kind: Type.Enum(FAULT_KINDS),
  /** `scheduler 0`, `executor 2`, `gateway 0`; nobody for faults of the broker and the archive. */
  who: Type.Optional(Type.String({ pattern: '^(scheduler|executor|gateway|notifier) \\d+$' })),
  forMs: Ms,
  /** The clock of the next leading broker shows so much more, or less. */
  clockStepMs: Type.Optional(Type.Number()),
});
export type PlannedFault = Static<typeof PlannedFault>;

/** A plan as a file has it. */
export const StoredPlan = Type.Object({
  /** Decides the delays, and with them the order of what happens at about the same time. */
  seed: Type.Integer(),
  heartbeatPeriodMs: Type.Number({ minimum: 300 }),
  cancelEnforceMs: Ms,
  /** The most that messages and answers are delayed while nothing is wrong, most of the time. */
  delayMs: Ms,
  schedulers: Type.Array(PlannedScheduler, { minItems: 1 }),
  /** Left out when the log keeps everything. */
  gateway: Type.Optional(PlannedGateway),
  /** Left out when nobody is notified. */
  notifier: Type.Optional(PlannedNotifier),
  executors: Type.Array(PlannedExecutor),
  organisations: Type.Array(PlannedOrganisation),
  deployments: Type.Array(PlannedDeployment),
  runs: Type.Array(PlannedRun),
  faults: Type.Array(PlannedFault),
});
export type StoredPlan = Static<typeof StoredPlan>;

export type Plan = StoredPlan;
