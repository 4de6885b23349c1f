import { outputUrls, type OutputUrls } from '@runledger/webhooks/output-urls';
import { waitFor } from '@runledger/testing/wait-for';
import { succeeded } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAttemptOf, numbered, upload } from '../../runs/attempts/an-upload.ts';
import { A_SECRET_KEY, type TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { call } from '../../fixtures/requests/requests.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { readToEnd } from '../../runs/subscribe/an-event-source.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';

const TTL_S = 600;

let bed: TestBed;
let gateway: TestGateway;
beforeAll(async () => {
  bed = await openTestBed();
  const environment = { RUNLEDGER_OUTPUT_URL_TTL_S: String(TTL_S) };
  gateway = await bed.gateway({ projecting: true, environment });
});
afterAll(() => bed[Symbol.asyncDispose]());

const BYTES = 1_000;
const endedRun = async () => {
  const attempt = await anAttemptOf(bed, await queueSample(gateway, bed.tenant), BYTES);
  const { body: file } = await upload(gateway, attempt, numbered(BYTES), { filename: 'a picture.png' });
  const output = {
    id: '01920000-0000-7000-8000-000000000001',
    output_id: 'o',
    node_id: null,
    node_meta: null,
    type: null,
  };
  await appendAll(bed.log, succeeded(attempt.run, [{ ...output, data: { images: [file] } }]));
  return { run: attempt.run, file };
};
const urlIn = (outputs: { data: { images: { url: string }[] } }[]): string =>
  String(outputs[0]?.data.images[0]?.url);
const shown = async ({ run_id }: { readonly run_id: string }) =>
  call(`${gateway.api}/run/${run_id}`, bed.tenant.key);
const urlsAt = (now: Date, ttlS = TTL_S): OutputUrls =>
  outputUrls({ publicUrl: () => gateway.url, keys: [A_SECRET_KEY], ttlS, now: () => now });

describe('an output file of an installation whose addresses expire', () => {
  it('is served at the addresses that runs, lists and events show, to one reader alone', async () => {
    const { run } = await endedRun();
    const { body } = await shown(run);
    const list = await call(`${gateway.api}/runs?limit=1`, bed.tenant.key);
    const events = await readToEnd(gateway.eventsOf(run), bed.tenant.key);
    const addresses = [
      urlIn(body.outputs),
      urlIn(list.body.runs[0].outputs),
      urlIn(events.facts().at(-1)?.data.outputs),
    ];
    for (const url of addresses) {
      expect(new URL(url).search).toMatch(/^\?expires=\d+&signature=[\w-]{43}$/);
      const response = await fetch(url);
      expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, BYTES]);
      expect(response.headers.get('cache-control')).toMatch(/^private, max-age=[567]\d\d, immutable$/);
    }
  });

  it('is refused without a signature, with that of another file, and with one that was changed', async () => {
    const [{ run, file }, other] = [await endedRun(), await endedRun()];
    const url = urlIn((await shown(run)).body.outputs);
    const { search } = new URL(urlIn((await shown(other.run)).body.outputs));
    const bare = url.replace(/\?.*/, '');
    const later = url.replace(/expires=(\d+)/, (_, expires: string) => `expires=${Number(expires) + 150}`);
    for (const wrong of [bare, `${bare}${search}`, later, `${url}x`, `${url}&expires=1`]) {
      const { status, body } = await call(wrong, null);
      expect([wrong, status, body]).toEqual([wrong, 404, aRefusal('output_not_found', 'Output not found')]);
    }
    // An API key opens no output.
    expect((await call(bare, bed.tenant.key)).status).toBe(404);
    expect((await call(urlsAt(new Date()).of(file), null)).status).toBe(200);
  });

  it('is gone at an address that has expired, which says what to do', async () => {
    const { file } = await endedRun();
    const old = urlsAt(new Date(Date.now() - 2 * TTL_S * 1_000)).of(file);
    for (const method of ['GET', 'HEAD']) expect((await fetch(old, { method })).status).toBe(410);
    expect((await call(old, null)).body).toEqual(
      aRefusal(
        'output_address_expired',
        'This address has expired: read the run again, which shows another one',
      ),
    );
    const last = urlsAt(new Date(Date.now() - TTL_S * 1_000 + 60_000)).of(file);
    const response = await fetch(last);
    const age = Number(/max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '')?.[1]);
    expect([response.status, age <= 60 + TTL_S / 4]).toEqual([200, true]);
  });

  it('is shown at the same address for a while, so that a poller gets a 304', async () => {
    const { run } = await endedRun();
    // A quarter of the lifetime may be over between two of three reads.
    const reads = [await shown(run), await shown(run), await shown(run)].map(({ body }) =>
      urlIn(body.outputs),
    );
    expect(new Set(reads).size).toBeLessThan(3);
  });

  it('is served no more once its outputs are deleted', async () => {
    const { run } = await endedRun();
    const url = urlIn((await shown(run)).body.outputs);
    expect(
      (await call(`${gateway.api}/run/${run.run_id}/outputs`, bed.tenant.key, { method: 'DELETE' })).status,
    ).toBe(200);
    await waitFor('the file to be erased', async () => (await fetch(url)).status === 404);
  });
});
