/**
 * Whether the time of a 404 distinguishes a run, a machine or a deployment of another organisation from one that nobody has: in each
 * round both are asked for in turns. `node scripts/run.mjs services/gateway/bench/not-found.ts [pairs] [rounds]`
 */
import { newUuid } from '@runledger/contracts/ids';
import type { TestGateway } from '../test/fixtures/gateway/a-gateway.ts';
import { aKey } from '../test/fixtures/gateway/a-tenant.ts';
import { openTestBedOnOwnBroker } from '../test/fixtures/gateway/test-bed.ts';
import { queueSample } from '../test/fixtures/runs/queued-runs.ts';
import { call } from '../test/fixtures/requests/requests.ts';

const PAIRS = Number(process.argv[2] ?? 300);
const ROUNDS = Number(process.argv[3] ?? 5);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

const timed = async ({ api }: TestGateway, key: string, path: string, method: string): Promise<number> => {
  const begun = performance.now();
  const { status } = await call(`${api}${path}`, key, { method });
  const took = performance.now() - begun;
  if (status !== 404) throw new Error(`${method} ${path} answered ${status}, and 404 was expected.`);
  return took;
};

await using bed = await openTestBedOnOwnBroker();
const gateway = await bed.gateway({ projecting: true });
const other = await bed.newTenant();
const key = await aKey(bed.log, bed.tenant, { scopes: ['admin'] });
const run = await queueSample(gateway, other);

const asked = [
  { name: 'GET /run/{run_id}', method: 'GET', at: (id: string) => `/run/${id}`, foreign: run.run_id },
  {
    name: 'POST /run/{run_id}/cancel',
    method: 'POST',
    at: (id: string) => `/run/${id}/cancel`,
    foreign: run.run_id,
  },
  {
    name: 'GET /machines/{machine_id}',
    method: 'GET',
    at: (id: string) => `/machines/${id}`,
    foreign: other.machine.id,
  },
  {
    name: 'GET /deployments/{deployment_id}',
    method: 'GET',
    at: (id: string) => `/deployments/${id}`,
    foreign: other.deployment.id,
  },
];

for (const { name, method, at, foreign } of asked) {
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const times = { foreign: [] as number[], unknown: [] as number[] };
    for (let pair = 0; pair < PAIRS; pair += 1) {
      // Each is asked for first as often as the other.
      const order = pair % 2 === 0 ? (['foreign', 'unknown'] as const) : (['unknown', 'foreign'] as const);
      for (const which of order) {
        times[which].push(await timed(gateway, key, at(which === 'foreign' ? foreign : newUuid()), method));
      }
    }
    ratios.push(median(times.foreign) / median(times.unknown));
  }
  say(
    `${name}: foreign by unknown, median of ${PAIRS} pairs, by round: ${ratios.map((ratio) => ratio.toFixed(3)).join(' ')}`,
  );
}
