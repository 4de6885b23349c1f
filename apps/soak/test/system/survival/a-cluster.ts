import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { violationsIn } from '../../../src/checks/all-checks.ts';
import { runPlans } from '../../../src/clients/run-plans.ts';
import type { RunPlan } from '../../../src/clients/plan.ts';
import { startReceiver } from '../../../src/clients/receiver.ts';
import { clients } from '../../../src/clients/run-client.ts';
import { steadyClock } from '../../../src/cluster/clock.ts';
import { startCluster, type Cluster, type ClusterSpec } from '../../../src/cluster/cluster.ts';
import type { Part } from '../../../src/cluster/part.ts';
import type { Violation } from '../../../src/evidence/evidence.ts';
import { collectEvidence } from '../../../src/collection/collect-evidence.ts';
import { recordLog } from '../../../src/collection/read-log.ts';
import type { Exchange, RunStream } from '../../../src/clients/client-records.ts';
import { waitUntilSettled } from '../../../src/collection/wait-until-settled.ts';
import { chance } from '../../../src/parameters/random.ts';
import { SMALL } from '../../../src/parameters/size.ts';

const SIZE = { ...SMALL, executors: 2, slotsOfEach: 3, heartbeatPeriodS: 2, cancelGraceS: 1 };
/** Through the whole of a test; a machine that is short of time needs long for little. */
const PATIENCE_MS = 120_000;

/** Two of each service, their broker and database, as processes; and clients that write down what they are told. */
export interface TestCluster extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly exchanges: readonly Exchange[];
  readonly streams: readonly RunStream[];
  part(name: string): Part;
  /** Those that are ours. */
  readonly services: readonly Part[];
  /** The answer of any gateway to a question for the runs of the organisation. */
  list(): Promise<Response>;
  /** Carries such requests out to their ends, all at once; they are numbered on from the last ones. */
  load(plans: readonly Partial<RunPlan>[]): Promise<void>;
  /** What is not as it was promised, of all that was done so far, once nothing is left to do. */
  violations(): Promise<readonly Violation[]>;
}

export const aCluster = async ({ more }: Pick<ClusterSpec, 'more'> = {}): Promise<TestCluster> => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-survival-'))).path;
  const receiver = opened.use(await startReceiver(steadyClock));
  const about = { folder, size: SIZE, env: process.env, now: steadyClock, say: () => undefined };
  const cluster = opened.use(await startCluster({ ...about, ...(more ? { more } : {}) }));
  const seen = opened.use(await recordLog(cluster.log));
  const [exchanges, streams, plans]: [Exchange[], RunStream[], RunPlan[]] = [[], [], []];
  const patience = new AbortController();
  opened.defer(() => patience.abort());
  const who = clients({
    ...cluster,
    exchanges,
    streams,
    receiver: receiver.url,
    now: steadyClock,
    random: chance(1),
    signal: patience.signal,
  });
  const kept = opened.move();
  return {
    cluster,
    exchanges,
    streams,
    part: (name) => {
      const part = cluster.parts.find((one) => one.name === name);
      if (part === undefined) throw new Error(`there is no ${name}`);
      return part;
    },
    services: cluster.parts.filter(({ role }) => role !== 'broker' && role !== 'database'),
    list: () =>
      fetch(`${cluster.gateways[0]}/runs`, {
        headers: { authorization: `Bearer ${cluster.organisation.api_key}` },
      }),
    load: async (wishes) => {
      const asked = wishes.map((wish, at) => ({ ...aPlan(plans.length + at + 1), ...wish }));
      plans.push(...asked);
      await runPlans(who, asked);
    },
    violations: async () => {
      await waitUntilSettled(seen, PATIENCE_MS, () => undefined);
      const records = { exchanges, streams, received: receiver.received };
      return violationsIn(await collectEvidence({ cluster, seen, records, plans, size: SIZE, folder }));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

const aPlan = (request: number): RunPlan => ({
  request,
  at: 0,
  deployment: 'plain',
  gpu: null,
  work: { what: 'success', seconds: '0.2' },
  key: `survival-${request}`,
  impatientAfter: null,
  webhook: 'final',
  watch: 'waits',
  cancelAfter: null,
  rerun: false,
});
