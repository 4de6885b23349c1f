/**
 * What a page of a list of deployments costs, making one, and archiving a machine, for organisations with few and with many,
 * and what an organisation that lists without a pause costs another one.
 * `node scripts/run.mjs services/gateway/bench/catalogue.ts [many] [rounds] [at once]`
 */
import { Deployment, Machine } from '@runledger/contracts/catalogue/records';
import { newUuid } from '@runledger/contracts/ids';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { aKey, type Tenant } from '../test/fixtures/gateway/a-tenant.ts';
import { openTestBedOnOwnBroker } from '../test/fixtures/gateway/test-bed.ts';
import { call } from '../test/fixtures/requests/requests.ts';

const FEW = 100;
const PAGE = 50;
const MANY = Number(process.argv[2] ?? 8_900);
const ROUNDS = Number(process.argv[3] ?? 15);
const AT_ONCE = Number(process.argv[4] ?? 80);
const WARM_UP = 100;
const WRITTEN_AT_ONCE = 50;
const MIB = 1024 ** 2;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const median = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

const shown = (ms: number): string => `${ms.toFixed(1)} ms`;

await using bed = await openTestBedOnOwnBroker();
const { api } = await bed.gateway();
const deployments = openBucket(bed.log, 'CATALOGUE', Deployment);
const machines = openBucket(bed.log, 'CATALOGUE', Machine);

/** With this number of deployments in all. */
const aTenantWith = async (count: number): Promise<{ tenant: Tenant; key: string; places: string[] }> => {
  const tenant = await bed.newTenant();
  const records = Array.from({ length: count - 1 }, (_, index): Deployment => ({
    ...tenant.deployment,
    id: newUuid(),
    created_at: new Date(Date.UTC(2026, 1, 1) + index * 1_000).toISOString(),
  }));
  for (let begin = 0; begin < records.length; begin += WRITTEN_AT_ONCE) {
    const part = records.slice(begin, begin + WRITTEN_AT_ONCE);
    await Promise.all(
      part.map((record) => deployments.create(`deployments.${record.org_id}.${record.id}`, record)),
    );
  }
  const places = records.toReversed().map(({ created_at, id }) => `${created_at}.${id}`);
  return { tenant, key: await aKey(bed.log, tenant, { scopes: ['admin'] }), places };
};

let refused = 0;

const request = async (key: string, path: string, method = 'GET', body?: object): Promise<number> => {
  const begun = performance.now();
  const { status } = await call(`${api}${path}`, key, {
    method,
    ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}),
  });
  const took = performance.now() - begun;
  if (status >= 300 && status !== 503) throw new Error(`${method} ${path} answered ${status}.`);
  if (status === 503) refused += 1;
  return took;
};

const rounds = async (work: () => Promise<number>): Promise<number> => {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await work());
  return median(times);
};

const measure = async (count: number): Promise<string> => {
  const { tenant, key, places } = await aTenantWith(count);
  const behind = Buffer.from(places.at(-PAGE - 1) ?? '').toString('base64url');
  const body = { name: 'b', machine_id: tenant.machine.id, workflow_version_id: tenant.version.id };
  const figures = [
    ['first list of all', await request(key, '/deployments?limit=1')],
    ['first page, 1', await rounds(() => request(key, '/deployments?limit=1'))],
    [`first page, ${PAGE}`, await rounds(() => request(key, `/deployments?limit=${PAGE}`))],
    [`last page, ${PAGE}`, await rounds(() => request(key, `/deployments?limit=${PAGE}&cursor=${behind}`))],
    ['of the archived, none', await rounds(() => request(key, '/deployments?archived=true'))],
    ['create', await rounds(() => request(key, '/deployments', 'POST', body))],
    [
      'archive a machine',
      await rounds(async () => {
        const id = newUuid();
        await machines.create(`machines.${tenant.org_id}.${id}`, { ...tenant.machine, id });
        return request(key, `/machines/${id}`, 'PATCH', { archived: true });
      }),
    ],
  ] as const;
  say(`${count} deployments, median of ${ROUNDS}:`);
  for (const [name, ms] of figures) say(`  ${name}: ${shown(ms)}`);
  return key;
};

/** Meanwhile another organisation reads one record after the other. */
const crowd = async (key: string, path: string): Promise<void> => {
  const other = `/deployments/${bed.tenant.deployment.id}`;
  const alone = await rounds(() => request(bed.tenant.key, other));
  const begun = performance.now();
  const over = new AbortController();
  refused = 0;
  const crowded = Promise.all(Array.from({ length: AT_ONCE }, () => request(key, path))).finally(() =>
    over.abort(),
  );
  const meanwhile: number[] = [];
  for (; !over.signal.aborted;) meanwhile.push(await request(bed.tenant.key, other));
  await crowded;
  const took = performance.now() - begun;
  say(
    `${AT_ONCE} at once of GET ${path}: ${shown(took)} in all; a read of another organisation takes ` +
      `${shown(median(meanwhile))}, at most ${shown(Math.max(...meanwhile))}, and ${shown(alone)} alone; ${refused} answers were 503; ` +
      `the process has ${Math.round(process.memoryUsage().rss / MIB)} MiB`,
  );
};

const warm = await aTenantWith(FEW);
for (let count = 0; count < WARM_UP; count += 1) await request(warm.key, `/deployments?limit=${PAGE}`);
await measure(FEW);
const key = await measure(MANY);
await crowd(key, '/deployments?limit=1');
await crowd(key, '/deployments?limit=100');
