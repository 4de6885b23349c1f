import type { DeadLetter } from '@runledger/contracts/http/dead-letters';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { runEventSubject } from '@runledger/contracts/events/subjects';
import { readStored } from '@runledger/event-log/read/run-messages';
import { listDeadLetters, storeDeadLetter } from '@runledger/event-log/streams/dead-letters';
import { refused, respondToRedrives, taken } from '@runledger/request-reply/redrive';
import { aRun, assigned } from '@runledger/testing/run-events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TestGateway } from '../../fixtures/gateway/a-gateway.ts';
import { aKey } from '../../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { aRefusal } from '../../fixtures/requests/a-refusal.ts';
import { call, type ApiAnswer } from '../../fixtures/requests/requests.ts';

let bed: TestBed;
let gateway: TestGateway;
let operator: string;
beforeAll(async () => {
  bed = await openTestBed();
  gateway = await bed.gateway();
  operator = await aKey(bed.log, bed.tenant, { scopes: ['operator'] });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(() => bed.log.jsm.streams.purge('DEAD_LETTERS'));

const request = (method: string, path: string, key = operator): Promise<ApiAnswer> =>
  call(`${gateway.api}/dead-letters${path}`, key, { method });

const aDeadLetter = async (consumer: string, text = 'no { json'): Promise<StoredMessage> => {
  const { seq } = await bed.log.js.publish(runEventSubject(assigned(aRun())), text);
  const stored = await readStored(bed.log, seq);
  if (!stored) throw new Error('what was published is not there');
  await storeDeadLetter(bed.log, { consumer, stored, reason: 'it is no JSON' });
  return stored;
};

const listed = async (query = ''): Promise<DeadLetter[]> => (await request('GET', query)).body.dead_letters;

const idOf = (letters: readonly DeadLetter[]): string => letters[0]?.id ?? 'none';

describe('GET /dead-letters', () => {
  it('shows what could not be handled, and why', async () => {
    const { sequence, subject, time } = await aDeadLetter('scheduler');
    const [, org_id, run_id] = subject.split('.');
    expect(await listed()).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        reason: 'it is no JSON',
        consumer: 'scheduler',
        stream: 'RUNS',
        subject,
        sequence,
        time,
        org_id,
        run_id,
        size_bytes: 9,
        content: 'no { json',
        content_truncated: false,
        redriver: 'scheduler',
      },
    ]);
  });

  it('shows the beginning of a large message', async () => {
    await aDeadLetter('another', 'x'.repeat(20_000));
    const [letter] = await listed();
    expect(letter).toMatchObject({ size_bytes: 20_000, content_truncated: true, redriver: null });
    expect(letter?.content).toBe('x'.repeat(16_384));
  });

  it('comes in pages, and by stream and consumer', async () => {
    const consumers = ['a', 'b', 'a', 'b', 'a'];
    for (const consumer of consumers) await aDeadLetter(consumer);
    const read: string[] = [];
    let next = '?limit=2';
    while (next !== '') {
      const { body } = await request('GET', next);
      read.push(...body.dead_letters.map((letter: DeadLetter) => letter.consumer));
      next = body.next_cursor === null ? '' : `?limit=2&cursor=${body.next_cursor}`;
    }
    expect(read).toEqual(consumers);
    expect(await listed('?consumer=b')).toHaveLength(2);
    expect(await listed('?stream=FLEET')).toEqual([]);
  });

  it.each(['cursor=x', 'limit=0', 'limit=101', 'stream=*', 'consumer=a.b'])('refuses %s', async (query) => {
    expect((await request('GET', `?${query}`)).status).toBe(422);
  });

  it('is for operators only', async () => {
    expect((await request('GET', '', bed.tenant.key)).status).toBe(403);
  });
});

describe('POST /dead-letters/{id}/redrive', () => {
  it.each([
    ['removes one that the service takes', taken('it is'), 0],
    ['keeps one that the service refuses', refused('it is not'), 1],
  ])('%s', async (_what, response, left) => {
    const { sequence } = await aDeadLetter('scheduler');
    const id = idOf(await listed());
    const sequences: number[] = [];
    using responder = respondToRedrives(bed.log, 'scheduler', async (redriven) => {
      sequences.push(redriven.sequence);
      return response;
    });
    expect(responder).toBeDefined();
    await bed.log.nc.flush();
    const { status, body } = await request('POST', `/${id}/redrive`);
    expect([status, body]).toEqual([200, { id, ...response }]);
    expect(sequences).toEqual([sequence]);
    expect(await listDeadLetters(bed.log)).toHaveLength(left);
  });

  it('says that nobody responds, or that no service handles it', async () => {
    await aDeadLetter('executor-none');
    await aDeadLetter('another');
    const outcomes: unknown[] = [];
    for (const { id } of await listed())
      outcomes.push((await request('POST', `/${id}/redrive`)).body.outcome);
    expect(outcomes).toEqual(['no_response', 'no_responder']);
    expect(await listed()).toHaveLength(2);
  });
});

describe('DELETE /dead-letters/{id}', () => {
  it('removes it, and no other', async () => {
    await aDeadLetter('scheduler');
    const { sequence } = await aDeadLetter('scheduler');
    expect((await request('DELETE', `/${idOf(await listed())}`)).status).toBe(204);
    expect(await listed()).toMatchObject([{ sequence }]);
  });
});

describe('a dead letter that is not there', () => {
  it.each([
    ['POST', '/999999/redrive'],
    ['DELETE', '/999999'],
  ])('is not found by %s %s', async (method, path) => {
    const { status, body } = await request(method, path);
    expect([status, body]).toEqual([404, aRefusal('dead_letter_not_found')]);
  });

  it.each(['0', '-1', 'x', '1'.repeat(16)])('has no id like %s', async (id) => {
    expect((await request('DELETE', `/${id}`)).status).toBe(422);
  });
});
