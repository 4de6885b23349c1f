import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unlessAborted } from '@runledger/resilience/abort';
import { randomFrom } from '@runledger/testing/random-source';
import { violationsIn } from './checks/all-checks.ts';
import type {
  ClientRecords,
  CreatedRecord,
  Drain,
  Exchange,
  RunStream,
  Taking,
} from './clients/client-records.ts';
import { readHistories } from './clients/read-histories.ts';
import { planRuns, type RunPlan } from './clients/plan.ts';
import { startReceiver, type Receiver } from './clients/receiver.ts';
import { clientsOf, type Clients, runPlans } from './clients/run-client.ts';
import { now } from './cluster/clock.ts';
import { FIRST_RECORDS } from './cluster/organisation.ts';
import { startCluster, type Cluster, type ClusterOptions } from './cluster/cluster.ts';
import { collectEvidence } from './evidence/collect-evidence.ts';
import { recordLog, type RecordedLog, areSettledBy } from './evidence/read-log.ts';
import type { Evidence, Violation, Promises } from './evidence/evidence.ts';
import { foldRuns, hasEnded, lastOf } from './evidence/logged-run.ts';
import { runGlutton } from './clients/glutton.ts';
import { shareSlots, useLimitsAgain, type GreedyOptions } from './clients/share-slots.ts';
import type { Options } from './options.ts';
import { brokenPromises } from './broken-promises.ts';
import { summary } from './summary.ts';
import { violationReport, type ReportContext } from './violation-report.ts';
import { archivedOrganisations, hasArchiveStore } from './faults/archive-faults.ts';
import { troubleOf, type InjectedTrouble } from './faults/trouble.ts';

export interface SoakResult {
  readonly passed: boolean;
  /** The violations, if any, and the summary. */
  readonly report: string;
}

/** What `soak` needs of its process. */
interface SoakEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly print: (line: string) => void;
  /** Aborts to end the soak early. All its processes end then. */
  readonly interrupted: AbortSignal;
}

/** One soak, from the first process to the result. All its processes have ended when it resolves. */
export const soak = async (
  options: Options,
  { env, print, interrupted }: SoakEnvironment,
): Promise<SoakResult> => {
  const folder = await mkdtemp(join(tmpdir(), 'runledger-soak-'));
  let passed = false;
  try {
    await using open = new AsyncDisposableStack();
    const begunAt = now();
    const { size } = options;
    const hasStore = hasArchiveStore(options.seed);
    const setup = await startAll(open, {
      folder,
      size,
      env,
      print,
      hasArchiveStore: hasStore,
    });
    const recorded = await unlessAborted(runLoadAndFaults(setup, options, print), interrupted);
    const { cluster } = setup;
    const evidence = await collectEvidence({ ...setup, ...recorded, plans: plansOf(options), size, folder });
    const seconds = (now() - begunAt) / 1_000;
    const violations = violationsIn(evidence);
    const broken = brokenPromises(evidence);
    passed = violations.length === 0 && broken.length === 0;
    const reports = reportsOf(violations, evidence, { begunAt, command: options.command });
    return {
      passed,
      report: [...reports, ...brokenOf(broken), summary(evidence, { seconds, views: cluster.views })].join(
        '\n',
      ),
    };
  } finally {
    if (passed && !options.keep) await rm(folder, { recursive: true, force: true });
    else print(`The broker's store, the views and the log files are in ${folder}.`);
  }
};

/** What runs while clients and faults come. */
interface SoakSetup {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  readonly recorded: RecordedLog;
}

const startAll = async (open: AsyncDisposableStack, options: ClusterOptions): Promise<SoakSetup> => {
  const receiver = open.use(await startReceiver());
  const cluster = open.use(await startCluster(options));
  options.print(`Log files: ${options.folder}/logs`);
  return { receiver, cluster, recorded: open.use(await recordLog(cluster.log)) };
};

/** Plans have random numbers of their own, so that a change of the faults does not change them. */
const plansOf = ({ seed, size }: Options): RunPlan[] => planRuns(randomFrom(seed), size);

/** Greedy organisations stop before the end, so that their runs end with the others. */
const GREEDY_PART = 0.85;

interface Recorded {
  readonly trouble: InjectedTrouble;
  readonly promises: Promises;
  readonly records: ClientRecords;
}

/** Runs clients and injects faults, until everything is settled or the time is up. */
const runLoadAndFaults = async (
  setup: SoakSetup,
  options: Options,
  print: (line: string) => void,
): Promise<Recorded> => {
  const { cluster, receiver, recorded } = setup;
  const { minutes, settleWithinMs, quotas } = options.size;
  const endedRuns = (): ReadonlySet<string> =>
    new Set([...foldRuns(recorded.messages)].flatMap(([run, logged]) => (hasEnded(logged) ? [run] : [])));
  const hasOpenRuns = (org_id: string): boolean => {
    const own = recorded.messages.filter(({ subject }) => subject.startsWith(`runs.${org_id}.`));
    return [...foldRuns(own).values()].some((logged) => !hasEnded(logged));
  };
  const [plans, trouble] = [plansOf(options), troubleOf(options, cluster, endedRuns)];
  print(`${plans.length} requests and ${trouble.words} in ${minutes} minutes.`);
  const giveUp = new AbortController();
  const records = {
    exchanges: [] as Exchange[],
    streams: [] as RunStream[],
    drains: [] as Drain[],
    catalogue: [] as CreatedRecord[],
    takings: [] as Taking[],
  };
  const random = randomFrom(options.seed + 2);
  const mostRecords = quotas.catalogueRecords - FIRST_RECORDS;
  const clientsUntil = (signal: AbortSignal): Clients =>
    clientsOf({ ...cluster, ...records, mostRecords, receiver, random, signal });
  const clients = clientsUntil(giveUp.signal);
  // Each has random numbers of its own, as everything that a seed decides.
  const greedyUntil = (signal: AbortSignal, number: number): GreedyOptions => ({
    ...cluster,
    ...records,
    receiver,
    random: randomFrom(options.seed + number),
    slots: options.size.executors,
    hasOpenRuns,
    signal,
  });
  const greedyMs = minutes * 60_000 * GREEDY_PART;
  const load = Promise.all([
    runPlans(clients, plans),
    runGlutton(greedyUntil(giveUp.signal, 5), greedyMs),
    shareSlots(greedyUntil(giveUp.signal, 6), greedyMs),
  ]);
  const over = new AbortController();
  const reading = readHistories(
    {
      ...cluster,
      ...records,
      receiver,
      random: randomFrom(options.seed + 8),
      signal: over.signal,
    },
    archivedOrganisations(cluster),
    recorded,
  );
  const injected = await trouble.inject();
  print('All faults are injected. Waiting until everything is settled.');
  const timeout = setTimeout(() => giveUp.abort(), settleWithinMs);
  await load;
  clearTimeout(timeout);
  // The last delivery may be given up long after the last client is done.
  const areSettled = await areSettledBy(performance.now() + settleWithinMs, recorded, print);
  // One that is not settled is a violation by itself. The others are sent again all the same.
  await receiver.makeReachable();
  const lastDeadline = performance.now() + settleWithinMs;
  const last = clientsUntil(AbortSignal.timeout(settleWithinMs));
  await redeliverFailed(last, recorded, receiver.unreachableUrl);
  if (areSettled) await useLimitsAgain(greedyUntil(AbortSignal.timeout(settleWithinMs), 6));
  await areSettledBy(lastDeadline, recorded, print);
  over.abort();
  await reading;
  const { promises } = trouble;
  return { promises, records: { ...records, received: receiver.received }, trouble: injected };
};

/** Everything that could not be delivered is visible as failed, and can be sent again. */
const redeliverFailed = async (
  { redeliver }: Clients,
  { messages }: RecordedLog,
  unreachableUrl: string,
): Promise<void> => {
  for (const [run, logged] of foldRuns(messages)) {
    const wanted = lastOf(logged)?.request.webhook?.startsWith(unreachableUrl) ?? false;
    if (wanted && !logged.isDeleted && logged.webhook?.status === 'failed') await redeliver(run);
  }
};

const brokenOf = (promises: readonly string[]): string[] =>
  promises.length === 0
    ? []
    : ['BROKEN PROMISE: the soak did not do what it says.', ...promises.map((one) => `  ${one}`)];

const MAX_FURTHER_VIOLATIONS = 20;

/** The first violation with its report, and one line for each further violation. */
const reportsOf = (
  violations: readonly Violation[],
  evidence: Evidence,
  context: ReportContext,
): string[] => {
  const [first, ...others] = violations;
  if (first === undefined) return [];
  const lines = others
    .slice(0, MAX_FURTHER_VIOLATIONS)
    .map(({ invariant, run, message }) => `  ${invariant}, ${run ?? 'no run'}: ${message}`);
  return [violationReport(first, evidence, context), `${others.length} more violations.`, ...lines];
};
