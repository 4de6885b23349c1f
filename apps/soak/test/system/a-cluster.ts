import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { violationsIn } from '../../src/checks/all-checks.ts';
import { runPlans, clientsOf } from '../../src/clients/run-client.ts';
import type { RunPlan } from '../../src/clients/plan.ts';
import { NO_ARCHIVE_TROUBLE } from '../../src/faults/archive-faults.ts';
import { startReceiver } from '../../src/clients/receiver.ts';
import { startCluster, type Cluster, type ClusterOptions } from '../../src/cluster/cluster.ts';
import type { Part } from '../../src/cluster/part.ts';
import type { Violation } from '../../src/evidence/evidence.ts';
import { collectEvidence } from '../../src/evidence/collect-evidence.ts';
import { recordLog, areSettledBy } from '../../src/evidence/read-log.ts';
import type { Exchange, RunStream } from '../../src/clients/client-records.ts';
import { randomFrom } from '@runledger/testing/random-source';
import { SMALL } from '../../src/size.ts';

const SIZE = { ...SMALL, executors: 2, heartbeatPeriodS: 2, cancelGraceS: 1 };
/** Long, for a busy machine. */
const SETTLE_WITHIN_MS = 120_000;

/** Two of each service with broker and database, as processes, and clients that record the answers. */
export interface TestCluster extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly exchanges: readonly Exchange[];
  readonly streams: readonly RunStream[];
  part(name: string): Part;
  /** All parts but broker and database. */
  readonly services: readonly Part[];
  /** Lists the runs of the organisation at a gateway. */
  list(): Promise<Response>;
  /** Runs these plans at the same time, to their ends. Request numbers continue from the last plans. */
  load(plans: readonly Partial<RunPlan>[]): Promise<void>;
  /** The violations of all plans so far, after everything is settled. */
  violations(): Promise<readonly Violation[]>;
}

export const aCluster = async ({ more }: Pick<ClusterOptions, 'more'> = {}): Promise<TestCluster> => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'runledger-survival-'))).path;
  const receiver = opened.use(await startReceiver());
  const options = { folder, size: SIZE, env: process.env, print: () => undefined };
  const cluster = opened.use(await startCluster({ ...options, ...(more ? { more } : {}) }));
  const recorded = opened.use(await recordLog(cluster.log));
  const [exchanges, streams, plans]: [Exchange[], RunStream[], RunPlan[]] = [[], [], []];
  const giveUp = new AbortController();
  opened.defer(() => giveUp.abort());
  const clients = clientsOf({
    ...cluster,
    mostRecords: Infinity,
    exchanges,
    streams,
    drains: [],
    catalogue: [],
    receiver,
    random: randomFrom(1),
    signal: giveUp.signal,
  });
  const kept = opened.move();
  return {
    cluster,
    exchanges,
    streams,
    part: (name) => {
      const part = cluster.parts.find((one) => one.name === name);
      if (part === undefined) throw new Error(`The cluster has no part ${name}.`);
      return part;
    },
    services: cluster.parts.filter(({ role }) => role !== 'broker' && role !== 'database'),
    list: () =>
      fetch(`${cluster.gateways[0]}/runs`, {
        headers: { authorization: `Bearer ${cluster.organisation.api_key}` },
      }),
    load: async (changes) => {
      const added = changes.map((change, at) => ({ ...aPlan(plans.length + at + 1), ...change }));
      plans.push(...added);
      await runPlans(clients, added);
    },
    violations: async () => {
      await areSettledBy(performance.now() + SETTLE_WITHIN_MS, recorded, () => undefined);
      const records = {
        exchanges,
        streams,
        drains: [],
        catalogue: [],
        takings: [],
        received: receiver.received,
      };
      return violationsIn(
        await collectEvidence({
          cluster,
          recorded,
          records,
          trouble: { limits: [], trespasses: [], brokerFaults: [], archive: NO_ARCHIVE_TROUBLE },
          promises: { limits: [], databaseLosesData: false, archive: [], brokerFaults: [] },
          plans,
          size: SIZE,
          folder,
        }),
      );
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

const aPlan = (request: number): RunPlan => ({
  request,
  at: 0,
  deployment: 'ordinary',
  gpu: null,
  work: { what: 'success', seconds: '0.2' },
  hasLargeInputs: false,
  hasInputFile: false,
  key: `survival-${request}`,
  abortFirstAfterMs: null,
  webhook: 'final',
  follow: 'waits',
  cancelAfterMs: null,
  rerun: false,
  reusesKey: false,
  isForeignTarget: false,
  deletes: null,
});
