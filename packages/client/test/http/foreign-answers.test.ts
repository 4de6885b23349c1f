import { describe, expect, it } from 'vitest';
import { ApiError, type RunledgerError } from '../../src/main.ts';
import answers from '../fixtures/foreign-answers.json' with { type: 'json' };
import { aFakeService, json } from '../fixtures/fake-service.ts';
import { whileTimePasses } from '../fixtures/passing-time.ts';

const ORIGIN = 'http://runledger.test';

const refused = (calling: Promise<unknown>): Promise<RunledgerError> =>
  calling.then(
    () => expect.fail('it was no error'),
    (error: RunledgerError) => error,
  );

// The client for Python has the same table.
describe.each(answers)('an answer that is $what', ({ status, headers, body, error, isSentAgain, says }) => {
  const answer = () => new Response(body, { status, headers: new Headers(Object.entries(headers)) });
  const sentence = says.replaceAll('{origin}', ORIGIN);

  it('says what it means and what to do', async () => {
    const { client } = aFakeService([answer], { retries: 0 });
    const found = await refused(client.runs.get('run-1'));
    expect(found.name).toBe(error);
    expect(found instanceof ApiError ? found.detail : found.message).toContain(sentence);
    expect(found.message).toContain(sentence);
  });

  it('is asked for again only where that is safe and may help', async () => {
    const reading = aFakeService([answer, json({ id: 'run-1', finished: true })]);
    const queueing = aFakeService([answer, json({ run_id: 'run-1' })]);
    const changing = aFakeService([answer, json({})]);
    await whileTimePasses(() =>
      Promise.allSettled([
        reading.client.runs.wait('run-1'),
        queueing.client.runs.queue('d1'),
        changing.client.request('POST', '/webhooks/secret', { body: {} }),
      ]),
    );
    const times = isSentAgain ? 2 : 1;
    expect([reading, queueing, changing].map(({ sent }) => sent.length)).toEqual([times, times, 1]);
  });
});

it('JSON of another server is no run, no list of runs and no uploaded file', async () => {
  const { client } = aFakeService(Array.from({ length: 6 }, () => json({ error: 'no session' })));
  const calls = [
    () => client.runs.queue('d1'),
    () => client.runs.rerun('r1'),
    () => client.runs.get('r1'),
    () => client.runs.wait('r1'),
    () => Array.fromAsync<unknown>(client.runs.list()),
    () => client.runs.queue('d1', { photo: new Blob(['x']) }),
  ];
  for (const call of calls)
    expect((await refused(call())).message).toMatch(
      /^The answer has no \w+, so it is not Runledger's: .*no session/,
    );
});

it('a page instead of a stream is refused, and not waited for', async () => {
  const page = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
  const { client, sent } = aFakeService([page]);
  for (const stream of [
    client.subscribe('r1'),
    client.runs.logs('r1'),
    client.runs.logs('r1', { follow: true }),
  ])
    expect((await refused(Array.fromAsync<unknown>(stream))).message).toContain('A page (HTML) came instead');
  expect(sent).toHaveLength(3);
});
