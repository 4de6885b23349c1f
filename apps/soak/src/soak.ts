import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultSchedule, type Fault } from './faults/fault-schedule.ts';
import { injectFaults } from './faults/inject-faults.ts';
import { violationsIn } from './checks/all-checks.ts';
import { runPlans } from './clients/run-plans.ts';
import { plans, type RunPlan } from './clients/plan.ts';
import { startReceiver, type Receiver } from './clients/receiver.ts';
import { clients } from './clients/run-client.ts';
import { steadyClock } from './cluster/clock.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import type { Part } from './cluster/part.ts';
import { residentBytes } from './cluster/resident-bytes.ts';
import { collectEvidence } from './collection/collect-evidence.ts';
import type { Evidence, Violation } from './evidence/evidence.ts';
import { recordLog, type SeenLog } from './collection/read-log.ts';
import type { ClientRecords, Exchange, RunStream } from './clients/client-records.ts';
import { waitUntilSettled } from './collection/wait-until-settled.ts';
import type { Options } from './parameters/options.ts';
import { chance } from './parameters/random.ts';
import type { Size } from './parameters/size.ts';
import { violationReport, type ReportContext } from './report/violation-report.ts';
import { summary } from './report/summary.ts';

export interface Verdict {
  readonly kept: boolean;
  /** The summary, and in front of it the story of the first violation. */
  readonly report: string;
}

/** What `soak` needs of the process that it runs in. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
  /** Gives it up: what was started is ended. */
  readonly stopping?: AbortSignal;
}

/** One soak, from the first process to the verdict. Everything that it started is gone when it resolves. */
export const soak = async (options: Options, { env, say, stopping }: Surroundings): Promise<Verdict> => {
  const folder = await mkdtemp(join(tmpdir(), 'runledger-soak-'));
  let kept = false;
  try {
    await using open = new AsyncDisposableStack();
    const begunAt = steadyClock();
    const begun = await begin(open, options.size, folder, env, say);
    const records = await unlessAborted(liveThrough(begun, options, say), stopping);
    const { cluster } = begun;
    const { size } = options;
    const evidence = await collectEvidence({ ...begun, records, plans: plansOf(options), size, folder });
    const memory = await residentBytes(cluster.parts);
    const seconds = (steadyClock() - begunAt) / 1_000;
    const violations = violationsIn(evidence);
    kept = violations.length === 0;
    const stories = tellAll(violations, evidence, { begunAt, command: options.command });
    return {
      kept,
      report: [...stories, summary(evidence, { seconds, views: cluster.views, memory })].join('\n'),
    };
  } finally {
    if (kept && !options.keep) await rm(folder, { recursive: true, force: true });
    else say(`The store of the broker, the views and the log files are in ${folder}.`);
  }
};

interface BegunSoak {
  readonly cluster: Cluster;
  readonly receiver: Receiver;
  readonly seen: SeenLog;
}

const begin = async (
  open: AsyncDisposableStack,
  size: Size,
  folder: string,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<BegunSoak> => {
  const receiver = open.use(await startReceiver(steadyClock));
  const cluster = open.use(await startCluster({ folder, size, env, now: steadyClock, say }));
  say(`Log files: ${folder}/logs`);
  return { receiver, cluster, seen: open.use(await recordLog(cluster.log)) };
};

/** Each has a chance of its own, so that one more question of one changes nothing for the others. */
const plansOf = ({ seed, size }: Options): RunPlan[] => plans(chance(seed), size);
const blowsOf = ({ seed, size }: Options, parts: readonly Part[]): Fault[] =>
  faultSchedule(
    chance(seed + 1),
    parts.map(({ name }) => name),
    size,
  );

/** The load and the blows, until all is quiet or has had its time. */
const liveThrough = async (
  { cluster, receiver, seen }: BegunSoak,
  options: Options,
  say: (line: string) => void,
): Promise<ClientRecords> => {
  const { minutes, quietWithin } = options.size;
  const [asked, blows] = [plansOf(options), blowsOf(options, cluster.parts)];
  say(`${asked.length} requests and ${blows.length} blows in ${minutes} minutes.`);
  const patience = new AbortController();
  const records = { exchanges: [] as Exchange[], streams: [] as RunStream[] };
  const who = clients({
    ...cluster,
    ...records,
    receiver: receiver.url,
    now: steadyClock,
    random: chance(options.seed + 2),
    signal: patience.signal,
  });
  const asking = runPlans(who, asked);
  await injectFaults(blows, cluster.parts);
  say('The last blow has fallen; everything is let run until it is quiet.');
  const late = setTimeout(() => patience.abort(), quietWithin);
  await asking;
  clearTimeout(late);
  await waitUntilSettled(seen, quietWithin, say);
  return { ...records, received: receiver.received };
};

const MOST_TOLD = 20;

/** The first violation as a story, and in a line each what else there is. */
const tellAll = (violations: readonly Violation[], evidence: Evidence, frame: ReportContext): string[] => {
  const [first, ...others] = violations;
  if (first === undefined) return [];
  const lines = others.slice(0, MOST_TOLD).map(({ run, says }) => `  ${run ?? 'no run'}: ${says}`);
  return [violationReport(first, evidence, frame), `${others.length} violations more.`, ...lines];
};

const unlessAborted = <Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> => {
  if (signal === undefined) return work;
  const aborted = once(signal, 'abort').then(() => Promise.reject(new Error('the soak was given up')));
  return Promise.race([work, aborted]);
};
