import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCatalogueApi, aMachine, type CatalogueApi, type Client } from './a-catalogue.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin(await catalogue.bed.newTenant());
});
afterAll(() => catalogue[Symbol.asyncDispose]());

interface Listed {
  readonly id: string;
  readonly created_at: string;
}

/** All pages behind each other; `between` happens after the first one. */
const walk = async (
  path: string,
  name: string,
  between: () => Promise<unknown>,
  filter = '',
): Promise<Listed[]> => {
  const found: Listed[] = [];
  let cursor = '';
  do {
    const { body } = await admin.get(`${path}?limit=2${filter}${cursor}`);
    expect(body[name].length).toBeLessThanOrEqual(2);
    if (cursor === '') await between();
    found.push(...body[name]);
    cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
  } while (cursor !== '');
  return found;
};

const createMany = async (path: string, request: object): Promise<string[]> => {
  const ids: string[] = [];
  for (let count = 0; count < 5; count += 1) ids.unshift((await admin.post(path, request)).body.id);
  return ids;
};

describe('a list', () => {
  it.each([
    ['machines', async () => ({ path: '/machines', request: aMachine })],
    ['workflows', async () => ({ path: '/workflows', request: { name: 'fractal' } })],
    [
      'versions',
      async () => {
        const { id } = (await admin.post('/workflows', { name: 'fractal' })).body;
        return { path: `/workflows/${id}/versions`, request: { workflow: {} } };
      },
    ],
  ])('comes in pages, newest first, unchanged by new records: %s', async (name, begin) => {
    const { path, request } = await begin();
    const before = (await admin.get(path)).body[name].map(({ id }: Listed) => id);
    const ids = await createMany(path, request);
    const walked = await walk(path, name, () => admin.post(path, request));
    expect(walked.map(({ id }) => id)).toEqual([...ids, ...before]);
  });

  it.each(['/machines', '/workflows', '/deployments'])('%s refuses an invalid query', async (path) => {
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=many',
      'cursor=',
      'cursor=bm9uZQ',
      'cursor=%00',
      'archived=maybe',
      'name=',
      `name=${'n'.repeat(129)}`,
    ]) {
      const { status, body } = await admin.get(`${path}?${query}`);
      expect({ query, status }).toEqual({ query, status: 422 });
      expect(body.detail).toHaveLength(1);
      expect(body.detail[0].loc).toEqual(['query', query.split('=')[0]]);
    }
  });

  it.each<[string, (name: string) => object]>([
    ['machines', (name) => ({ ...aMachine, name })],
    ['workflows', (name) => ({ name })],
  ])('gives only the records with a name, in pages, as they are named now: %s', async (kind, request) => {
    const create = async (name: string): Promise<string> =>
      (await admin.post(`/${kind}`, request(name))).body.id;
    const ids = [await create('twice'), await create('twice & more'), await create('twice')];
    const walked = await walk(`/${kind}`, kind, () => Promise.resolve(), '&name=twice');
    expect(walked.map(({ id }) => id)).toEqual([ids[2], ids[0]]);
    await admin.patch(`/${kind}/${ids[0]}`, { name: 'renamed' });
    await admin.patch(`/${kind}/${ids[2]}`, { archived: true });
    expect((await admin.get(`/${kind}?name=twice`)).body[kind]).toEqual([]);
    expect((await admin.get(`/${kind}?name=twice&archived=true`)).body[kind]).toMatchObject([{ id: ids[2] }]);
    expect((await admin.get(`/${kind}?name=renamed`)).body[kind]).toMatchObject([{ id: ids[0] }]);
  });

  it('refuses a cursor of another list, for versions', async () => {
    const { id } = (await admin.post('/workflows', { name: 'fractal' })).body;
    const { next_cursor } = (await admin.get('/workflows?limit=1')).body;
    expect((await admin.get(`/workflows/${id}/versions?cursor=${next_cursor}`)).status).toBe(422);
    const numbers = Buffer.from('9999999999').toString('base64url');
    expect((await admin.get(`/workflows/${id}/versions?cursor=${numbers}`)).body.versions).toEqual([]);
    expect((await admin.get(`/workflows?cursor=${numbers}`)).status).toBe(422);
  });
});
