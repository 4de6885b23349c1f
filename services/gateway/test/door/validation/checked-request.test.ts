import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Router } from '@koa/router';
import type { JsonValue } from '@runledger/contracts/json';
import { TimeOrDay, Uuid } from '@runledger/contracts/http/fields';
import { optional } from '@runledger/contracts/schemas';
import Koa from 'koa';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operation, route } from '../../../src/door/operation.ts';
import { invalid, Refused } from '../../../src/door/refusal.ts';
import { checkedRequest } from '../../../src/door/checked-request.ts';

const everything = operation({
  id: 'everything',
  method: 'POST',
  audit: { unrecorded: 'a test' },
  path: '/{id}/{count}',
  tag: 'Runs',
  summary: 'Takes something of everything',
  scope: 'runs:read',
  request: {
    path: Type.Object({ id: Uuid, count: Type.Integer({ minimum: 0, maximum: 9 }) }),
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
      ratio: Type.Optional(Type.Number({ minimum: 0 })),
      archived: Type.Optional(Type.Boolean()),
      status: Type.Optional(Type.Array(Type.Enum(['queued', 'failed']))),
      after: Type.Optional(TimeOrDay),
      workflow: Type.Optional(Uuid),
      text: Type.Optional(Type.String({ maxLength: 5 })),
    }),
    headers: Type.Object({ 'X-Count': Type.Optional(Type.Integer({ minimum: 0 })) }),
    body: Type.Object({ a: Type.String(), b: optional(Type.Integer()), cursor: optional(Type.String()) }),
  },
  response: { status: 204, description: 'Nothing.' },
  refusals: [],
});

const id = '01920000-0000-7000-8000-00000000000a';
let address: string;
const server = createServer();
beforeAll(async () => {
  const check = checkedRequest(
    route(
      everything,
      () => Promise.resolve(),
      () => [
        invalid(['body', 'b'], 'value_error', 'b is also wrong'),
        invalid(['query', 'ratio'], 'value_error', 'ratio is also wrong'),
      ],
    ),
  );
  const plain = checkedRequest(route(everything, () => Promise.resolve()));
  const app = new Koa();
  const router = new Router();
  router.post('/:mode/:id/:count', (ctx) => {
    const body: JsonValue | undefined = ctx.get('x-body') === '' ? undefined : JSON.parse(ctx.get('x-body'));
    try {
      ctx.body = (ctx['params'].mode === 'also' ? check : plain)(ctx, body);
    } catch (error) {
      if (!(error instanceof Refused) || error.refusal.code !== 'invalid_request') throw error;
      ctx.status = 422;
      ctx.body = error.refusal.problems;
    }
  });
  app.use(router.routes());
  const answer = app.callback();
  server.on('request', (request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // It listens at a port.
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

interface Sent {
  readonly path?: string;
  readonly body?: JsonValue;
  readonly headers?: Record<string, string>;
  readonly also?: true;
}

const send = async (query: string, { path = `${id}/1`, body = { a: '' }, headers = {}, also }: Sent = {}) => {
  const answer = await fetch(`${address}/${also ? 'also' : 'plain'}/${path}?${query}`, {
    method: 'POST',
    headers: { 'x-body': JSON.stringify(body), ...headers },
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
};
const wrongIn = async (query: string, sent?: Sent): Promise<[string, string][]> => {
  const { status, body } = await send(query, sent);
  expect(status).toBe(422);
  return body.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join('.'), type]);
};

describe('a text of a query', () => {
  it.each([
    ['limit=7', { limit: 7 }],
    ['limit=007', { limit: 7 }],
    ['limit=%2B7', { limit: 7 }],
    ['limit=+7', { limit: 7 }],
    ['limit=7.0', { limit: 7 }],
    ['limit=7&limit=8', { limit: 8 }],
    ['ratio=.5', { ratio: 0.5 }],
    ['ratio=1e2', { ratio: 100 }],
    ['archived=true', { archived: true }],
    ['archived=False', { archived: false }],
    ['status=queued', { status: ['queued'] }],
    ['status=queued,failed', { status: ['queued', 'failed'] }],
    ['status=queued&status=failed', { status: ['queued', 'failed'] }],
    ['status=queued, failed', { status: ['queued', 'failed'] }],
    ['after=2026-01-31', { after: '2026-01-31' }],
    [`workflow=${id.toUpperCase()}`, { workflow: id }],
    ['text=', { text: '' }],
    ['', {}],
  ])('%s', async (query, read) => {
    expect((await send(query)).body.query).toEqual(read);
  });

  it('is refused under a name that the operation does not know, also under one that every object has', async () => {
    const names = ['unknown', '__proto__', 'constructor', 'toString'];
    const wrong = await wrongIn(names.map((name) => `${name}=1`).join('&'));
    expect(wrong).toEqual(names.map((name) => [`query.${name}`, 'extra_forbidden']));
  });

  it.each([
    ['limit=ten', 'limit', 'int_parsing'],
    ['limit=', 'limit', 'int_parsing'],
    ['limit=1.5', 'limit', 'int_parsing'],
    ['limit=1e1', 'limit', 'int_parsing'],
    ['limit=0x10', 'limit', 'int_parsing'],
    ['limit=1_0', 'limit', 'int_parsing'],
    ['limit=%D9%A3', 'limit', 'int_parsing'],
    ['limit=1&limit=x', 'limit', 'int_parsing'],
    [`limit=${'9'.repeat(400)}`, 'limit', 'int_parsing'],
    ['limit=0', 'limit', 'greater_than_equal'],
    ['limit=-0', 'limit', 'greater_than_equal'],
    ['limit=101', 'limit', 'less_than_equal'],
    ['limit=9999999999999999', 'limit', 'less_than_equal'],
    ['ratio=x', 'ratio', 'float_parsing'],
    ['ratio=inf', 'ratio', 'float_parsing'],
    ['ratio=NaN', 'ratio', 'float_parsing'],
    ['ratio=1e999', 'ratio', 'float_parsing'],
    ['ratio=.', 'ratio', 'float_parsing'],
    ['archived=maybe', 'archived', 'bool_parsing'],
    ['archived=', 'archived', 'bool_parsing'],
    ['archived=2', 'archived', 'bool_parsing'],
    ['status=', 'status', 'enum'],
    ['status=queued,', 'status', 'enum'],
    ['status=queued,x,y', 'status', 'enum'],
    ['after=2026-01-31T09:30:00', 'after', 'datetime_parsing'],
    ['after=5', 'after', 'datetime_parsing'],
    ['workflow=x', 'workflow', 'uuid_parsing'],
    ['text=123456', 'text', 'string_too_long'],
  ])('is refused: %s', async (query, name, type) => {
    const { status, body } = await send(query);
    expect([status, body]).toEqual([422, [{ loc: ['query', name], type, msg: expect.any(String) }]]);
  });

  it('is refused in the words of pydantic', async () => {
    const { body } = await send('limit=x&ratio=x&archived=x&status=x');
    expect(body.map(({ msg }: { msg: string }) => msg)).toEqual([
      'Send a whole number',
      'Send a number',
      'Send true or false',
      "Send 'queued' or 'failed'",
    ]);
  });
});

describe('a text of a path or a header', () => {
  it('is accepted in upper and lower case', async () => {
    const { body } = await send('', { path: `${id.toUpperCase()}/3`, headers: { 'x-count': '4' } });
    expect([body.path, body.headers]).toEqual([{ id, count: 3 }, { 'X-Count': 4 }]);
  });

  it('is refused under its described name', async () => {
    expect(await wrongIn('', { path: 'x/y', headers: { 'x-count': '' } })).toEqual([
      ['path.id', 'uuid_parsing'],
      ['path.count', 'int_parsing'],
      ['header.X-Count', 'int_parsing'],
    ]);
  });
});

describe('everything that is wrong with a request', () => {
  it('is listed in the order path, query, header, body, each in the order of its schema', async () => {
    const sent = { path: `x/10`, headers: { 'x-count': '-1' }, body: { b: 'x', cursor: 5 } };
    expect(await wrongIn('text=123456&limit=x&archived=', sent)).toEqual([
      ['path.id', 'uuid_parsing'],
      ['path.count', 'less_than_equal'],
      ['query.limit', 'int_parsing'],
      ['query.archived', 'bool_parsing'],
      ['query.text', 'string_too_long'],
      ['header.X-Count', 'greater_than_equal'],
      ['body.a', 'missing'],
      ['body.b', 'int_type'],
      ['body.cursor', 'string_type'],
    ]);
  });

  it('is listed with problems beyond the schemas, one for each location', async () => {
    expect(await wrongIn('text=123456', { also: true, body: { b: 'x', cursor: 5 } })).toEqual([
      ['query.ratio', 'value_error'],
      ['query.text', 'string_too_long'],
      ['body.a', 'missing'],
      ['body.b', 'int_type'],
      ['body.cursor', 'string_type'],
    ]);
  });

  it('includes a missing body, and one that is not an object', async () => {
    expect(await wrongIn('', { headers: { 'x-body': '' } })).toEqual([['body', 'missing']]);
    for (const body of [null, 5, 'text', [], [{}]]) {
      expect(await wrongIn('', { body })).toEqual([['body', 'dict_type']]);
    }
  });
});
