/**
 * What a request costs the gateway's process: GET of a run that has ended, GET of one that waits, and POST of a new one, in turns with a bare Koa application in
 * the same process that responds with as many bytes. The ratio of both is what to compare. Clients are another process.
 * `node scripts/run.mjs services/gateway/bench/requests.ts [requests of a round] [rounds]`
 */
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@runledger/testing/wait-for';
import { aRun, assigned, started, succeeded } from '@runledger/testing/run-events';
import Koa from 'koa';
import { openTestBedOnOwnBroker } from '../test/fixtures/gateway/test-bed.ts';
import { appendAll } from '../test/fixtures/runs/appended-facts.ts';
import { queueSample } from '../test/fixtures/runs/queued-runs.ts';
import { call } from '../test/fixtures/requests/requests.ts';
import { sqliteViews } from '../test/fixtures/views/sqlite-views.ts';
import { startLoad } from './load-process.ts';
import { median, microseconds, say } from './measure.ts';

const REQUESTS = Number(process.argv[2] ?? 4_000);
const ROUNDS = Number(process.argv[3] ?? 7);
const RUNS = 100;
const OUTPUTS = [
  {
    id: '01920000-0000-7000-8000-000000000002',
    output_id: 'out',
    data: { text: ['x'.repeat(1_000)] },
    node_meta: null,
    type: 'text',
    node_id: '1',
  },
];
const INPUTS = {
  prompt: 'a lighthouse on a cliff at dusk, volumetric light, 35mm, high detail',
  negative_prompt: 'blurry, low quality, watermark',
  seed: 1_234_567,
  steps: 30,
};

await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-bench-requests-'));
await using bed = await openTestBedOnOwnBroker();
await using views = sqliteViews({ path: join(folder.path, 'views.sqlite') });
const { tenant } = bed;
const gateway = await bed.gateway({ views, projecting: true });
await using load = startLoad();

const queueRuns = () =>
  Promise.all(Array.from({ length: RUNS }, () => queueSample(gateway, tenant, { inputs: INPUTS })));
const ended = await queueRuns();
for (const run of ended) {
  await appendAll(bed.log, assigned(run), started(run), succeeded(run, OUTPUTS));
}
const waiting = await queueRuns();
const runOfNobody = aRun();
await waitFor('the views', async () => (await views.find(waiting.at(-1) ?? runOfNobody)) !== undefined);

const floor = new Koa();
const [first] = ended;
const sample = (await call(`${gateway.api}/run/${first?.run_id ?? ''}`, tenant.key, {})).body;
floor.use((ctx) => {
  ctx.body = sample;
});
const floorServer = floor.listen(0, '127.0.0.1');
await once(floorServer, 'listening');
const portOf = (url: string): number => Number(new URL(url).port);
const gatewayPort = portOf(gateway.url);
const floorPort = (): number => (floorServer.address() as AddressInfo).port;

const head = (method: string, path: string, body = ''): string =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${tenant.key}\r\n` +
  (body === ''
    ? '\r\n'
    : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
const base = new URL(gateway.api).pathname;
const gets = (runs: typeof ended): string[] => runs.map(({ run_id }) => head('GET', `${base}/run/${run_id}`));
const body = JSON.stringify({ deployment_id: tenant.deployment.id, inputs: INPUTS });

const measured = {
  'bare Koa': () => ({ port: floorPort(), requests: [head('GET', '/')] }),
  'GET, ended': () => ({ port: gatewayPort, requests: gets(ended) }),
  'GET, waiting': () => ({ port: gatewayPort, requests: gets(waiting) }),
  POST: () => ({ port: gatewayPort, requests: [head('POST', `${base}/run/deployment/queue`, body)] }),
};

const names = (
  process.argv[4] ? process.argv[4].split('|') : Object.keys(measured)
) as (keyof typeof measured)[];
const found: Record<string, { readonly µs: number; readonly ratio: number }[]> = {};
for (let round = 0; round <= ROUNDS; round += 1) {
  let ofFloor = Number.NaN;
  for (const name of names) {
    const µs = (await microseconds(() => load.send({ ...measured[name](), count: REQUESTS }))) / REQUESTS;
    if (name === 'bare Koa') ofFloor = µs;
    if (round > 0) (found[name] ??= []).push({ µs, ratio: µs / ofFloor });
  }
}
for (const name of names) {
  const all = found[name] ?? [];
  say(
    `${name}: ${median(all.map(({ µs }) => µs)).toFixed(0)} µs of CPU, ${median(all.map(({ ratio }) => ratio)).toFixed(2)} times bare Koa`,
  );
}
floorServer.close();
floorServer.closeAllConnections();
