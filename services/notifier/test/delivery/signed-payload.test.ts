import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { jsonBytes } from '@runledger/contracts/json';
import { MAX_INLINE_BYTES } from '@runledger/contracts/limits';
import { newUuid, orgId, type OrgId } from '@runledger/contracts/ids';
import type { RunOutput } from '@runledger/contracts/events/run-event-data';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, type Arrived, type Receiver } from '@runledger/testing/stand-ins/webhook-receiver';
import { openTestBed, type RunningNotifier, type TestBed } from '../fixtures/test-bed.ts';

const MAX_BYTES = 8 * 1_024;

let bed: TestBed;
let running: RunningNotifier;
beforeAll(async () => {
  bed = await openTestBed();
  running = await bed.start({ maxBytes: MAX_BYTES });
});
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const arrivalOf = (receiver: Receiver, { run_id }: RunKey): Promise<Arrived> =>
  waitFor('what arrives', () => receiver.of(run_id)[0]);

const passes = (verify: () => unknown): boolean => {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
};

/** Whether both libraries take it for what it is, with this secret; never only one of them. */
const accept = (secret: string, { body, headers }: Arrived): boolean => {
  const [standard, svix] = [new StandardWebhook(secret), new SvixWebhook(secret)].map((library) =>
    passes(() => library.verify(body, { ...headers })),
  );
  expect(svix).toBe(standard);
  return standard === true;
};

describe('the signature', { timeout: 60_000 }, () => {
  const deliver = async (receiver: Receiver, org: OrgId): Promise<Arrived> =>
    arrivalOf(receiver, await bed.succeed(`${receiver.url}/hook`, org));

  it('is accepted with the old secret before a rotation, with both during it, with the new one after it', async () => {
    await using receiver = await aReceiver();
    const org = orgId(newUuid());
    const { secret: old } = await bed.secrets.current(org);
    expect(accept(old, await deliver(receiver, org))).toBe(true);

    // Longer than the notifier goes by what it read last.
    const { secret: fresh } = await bed.secrets.rotate(org, { overlap_s: 12 });
    await waitFor('one that both are accepted with', async () => {
      const arrived = await deliver(receiver, org);
      const [withOld, withNew] = [accept(old, arrived), accept(fresh, arrived)];
      // Until it knows of the new one it signs with the old one.
      expect(withOld || withNew).toBe(true);
      return withOld && withNew;
    });
    const last = await waitFor('one that the old secret is not accepted with', async () => {
      const arrived = await deliver(receiver, org);
      expect(accept(fresh, arrived)).toBe(true);
      return !accept(old, arrived) && arrived;
    });
    expect(accept(await freshSecret(), last)).toBe(false);
  });

  it('covers the exact body: a changed body is not accepted', async () => {
    await using receiver = await aReceiver();
    const arrived = await deliver(receiver, bed.org);
    const { secret } = await bed.secrets.current(bed.org);
    expect(accept(secret, arrived)).toBe(true);
    expect(accept(secret, { ...arrived, body: arrived.body.replace('success', 'failed') })).toBe(false);
    expect(accept(secret, { ...arrived, body: `${arrived.body} ` })).toBe(false);
    const headers = { ...arrived.headers, 'webhook-id': 'msg_other' };
    expect(accept(secret, { ...arrived, headers })).toBe(false);
  });

  const freshSecret = async (): Promise<string> => (await bed.secrets.current(orgId(newUuid()))).secret;
});

describe('outputs', () => {
  it('of a list that has expired are none', async () => {
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    const expired = { sha256: 'e'.repeat(64), bytes: 5_000 };
    await bed.happen(key, assigned(key), started(key), succeeded(key, [], expired));
    expect((await arrivalOf(receiver, key)).payload).toMatchObject({
      status: 'success',
      outputs: [],
      missing_members: [{ member: 'outputs', reason: 'gone' }],
    });
  });

  const anOutput = (text: string): RunOutput => ({
    id: newUuid(),
    output_id: 'text',
    node_id: null,
    node_meta: null,
    type: null,
    data: { text: [text] },
  });
  const deliverOutputs = async (outputs: RunOutput[]): Promise<{ arrived: Arrived; key: RunKey }> => {
    await using receiver = await aReceiver();
    const key = await bed.queue(`${receiver.url}/hook`);
    const isLong = jsonBytes(outputs) > MAX_INLINE_BYTES;
    const blob = isLong ? await openBlobStores(bed.log).blobs.put(key.org_id, jsonBlob(outputs)) : null;
    await bed.happen(key, assigned(key), started(key), succeeded(key, outputs, blob));
    return { arrived: await arrivalOf(receiver, key), key };
  };

  it('are complete if they fit', async () => {
    const { arrived } = await deliverOutputs([anOutput('one'), anOutput('two')]);
    expect(arrived.payload.outputs).toMatchObject([{ data: { text: ['one'] } }, { data: { text: ['two'] } }]);
    expect(arrived.payload).not.toHaveProperty('truncated');
    expect(arrived.payload).not.toHaveProperty('missing_members');
    expect(arrived.payload).not.toHaveProperty('run_url');
  });

  it.each([
    ['many of them', Array.from({ length: 50 }, (_none, index) => anOutput(`${index}`.repeat(200)))],
    ['one of them', [anOutput('ä'.repeat(20_000))]],
  ])('are left out if %s are too large, and the signed body has a link to all', async (_what, outputs) => {
    const { arrived, key } = await deliverOutputs(outputs);
    expect(Buffer.byteLength(arrived.body)).toBeLessThanOrEqual(MAX_BYTES);
    expect(arrived.payload).toMatchObject({
      truncated: true,
      run_url: `https://runs.example/api/run/${key.run_id}`,
      finished: true,
    });
    expect(arrived.payload.outputs.length).toBeLessThan(outputs.length);
    expect(arrived.payload.outputs).toMatchObject(
      outputs.slice(0, arrived.payload.outputs.length).map(({ data }) => ({ data })),
    );
    expect(accept((await bed.secrets.current(bed.org)).secret, arrived)).toBe(true);
  });
});
