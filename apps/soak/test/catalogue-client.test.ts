import { describe, expect, it } from 'vitest';
import type { Request } from '../src/clients/api.ts';
import { catalogueClient } from '../src/clients/catalogue-client.ts';
import type { ClientContext } from '../src/clients/client-context.ts';
import type { Answer, CreatedRecord } from '../src/clients/client-records.ts';

const FULL: Answer = { kind: 'refused', status: 503, why: '{"detail":"The log is full (KV_CATALOGUE)' };
const UNAVAILABLE: Answer = { kind: 'refused', status: 503, why: '{"detail":"Try again' };
const LOST: Answer = { kind: 'lost', why: 'timeout' };
const REFUSED: Answer = { kind: 'lost', why: 'fetch failed: connect ECONNREFUSED 127.0.0.1:1' };

/** Clients of gateways that answer so; `giveUp` at the latest after so many requests. */
const aClient = (mostRecords: number, answerTo: (request: Request, at: number) => Answer, giveUp = 100) => {
  const sent: Request[] = [];
  const records: CreatedRecord[] = [];
  const end = new AbortController();
  const context = {
    organisation: { workflow_id: 'w', machine_id: 'm' },
    catalogue: records,
    now: () => sent.length,
    random: { integer: () => 0 },
    gateway: () => 'http://gateway',
    rest: async () => undefined,
    signal: end.signal,
    send: async (request: Request) => {
      sent.push(request);
      if (sent.length >= giveUp) end.abort();
      return answerTo(request, sent.length);
    },
    // What the catalogue needs of a client.
  } as unknown as ClientContext;
  const creations = (): Request[] => sent.filter(({ kind }) => kind === 'create');
  return { ...catalogueClient(context, mostRecords), sent, records, creations };
};

const created = (_request: Request, at: number): Answer => ({ kind: 'created', id: `id-${at}` });
const works = (request: Request, at: number): Answer =>
  request.kind === 'create' ? created(request, at) : { kind: 'done' };

describe('clients of the catalogue', () => {
  it.each([
    ['lost', LOST],
    ['that the gateway is unavailable', UNAVAILABLE],
  ])('send no more creations than there is room for, when each answer is %s', async (_what, answer) => {
    const { createVersion, creations } = aClient(7, () => answer);
    await createVersion();
    await createVersion();
    expect(creations()).toHaveLength(7);
  });

  it.each([
    ['the store is full', FULL],
    ['no gateway listens', REFUSED],
  ])('send a creation again while %s, as nothing is stored until then', async (_why, answer) => {
    const { createVersion, creations, records } = aClient(1, (request, at) =>
      at < 20 ? answer : created(request, at),
    );
    await createVersion();
    expect([creations().length, records.length]).toEqual([20, 1]);
  });

  it('have room again for what they deleted', async () => {
    const { createVersion, deployAndDelete, creations, records } = aClient(3, works);
    await deployAndDelete();
    expect(records.map(({ state }) => state)).toEqual(['deleted', 'deleted', 'kept']);
    for (let more = 0; more < 5; more += 1) await createVersion();
    expect(creations()).toHaveLength(5);
  });

  it('delete no version that another deployment may use, which nobody knows', async () => {
    const { deployAndDelete, sent } = aClient(9, (request, at) =>
      request.path === '/deployments' ? LOST : works(request, at),
    );
    await deployAndDelete();
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /workflows/w/versions',
      'POST /deployments',
    ]);
  });
});
