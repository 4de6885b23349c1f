import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCatalogueApi, aMachine, wrongIn, type CatalogueApi, type Client } from './a-catalogue.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
});
afterAll(() => catalogue[Symbol.asyncDispose]());

describe('a machine', () => {
  it('is created, read and listed', async () => {
    const { status, body } = await admin.post('/machines', aMachine);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...aMachine,
      id: expect.any(String),
      org_id: catalogue.bed.tenant.org_id,
      type: 'program',
      version: '1',
      archived: false,
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
    });
    expect((await admin.get(`/machines/${body.id}`)).body).toEqual(body);
    expect((await admin.get('/machines')).body.machines[0]).toEqual(body);
  });

  it('has any GPU model; its name is accepted in either case and kept in upper case', async () => {
    const created = await admin.post('/machines', { ...aMachine, gpu: 'rtx4090' });
    expect(created).toMatchObject({ status: 201, body: { gpu: 'RTX4090' } });
    const same = await admin.patch(`/machines/${created.body.id}`, { gpu: 'RTX4090' });
    expect(same.body).toMatchObject({ gpu: 'RTX4090', version: '1' });
    const changed = await admin.patch(`/machines/${created.body.id}`, { gpu: 'cpu' });
    expect(changed.body).toMatchObject({ gpu: 'CPU', version: '2' });
  });

  it.each([
    ['gpu', { gpu: 'H100' }],
    ['type', { type: 'bare metal' }],
    ['runner', { runner: { kind: 'comfyui', url: 'http://127.0.0.1:8188' } }],
    ['program', { runner: { kind: 'program', program: 'another' } }],
  ])('gets the next version with another %s', async (_what, change) => {
    const { id } = (await admin.post('/machines', aMachine)).body;
    const { status, body } = await admin.patch(`/machines/${id}`, change);
    expect({ status, body }).toMatchObject({ status: 200, body: { ...change, version: '2' } });
    expect((await admin.patch(`/machines/${id}`, change)).body).toEqual(body);
    expect((await admin.get(`/machines/${id}`)).body).toEqual(body);
  });

  it('keeps its version when its name changes, and when a member is null or unknown', async () => {
    const created = (await admin.post('/machines', aMachine)).body;
    const change = { name: 'new', gpu: null, runner: null, org_id: newUuid(), version: '9', constructor: 1 };
    const { body } = await admin.patch(`/machines/${created.id}`, change);
    expect(body).toEqual({ ...created, name: 'new' });
  });

  it('loses no concurrent change', async () => {
    const { id } = (await admin.post('/machines', aMachine)).body;
    const types = Array.from({ length: 20 }, (_, index) => `type ${index}`);
    const answers = await Promise.all(types.map((type) => admin.patch(`/machines/${id}`, { type })));
    expect(answers.map(({ status }) => status)).toEqual(types.map(() => 200));
    const versions = answers.map(({ body }) => Number(body.version)).sort((a, b) => a - b);
    expect(versions).toEqual(types.map((_, index) => index + 2));
  });

  it('is archived and restored, and listed separately meanwhile', async () => {
    const { id } = (await admin.post('/machines', aMachine)).body;
    const ids = async (query: string): Promise<string[]> =>
      (await admin.get(`/machines${query}`)).body.machines.map((machine: { id: string }) => machine.id);
    expect((await admin.patch(`/machines/${id}`, { archived: true })).body.archived).toBe(true);
    expect(await ids('')).not.toContain(id);
    expect(await ids('?archived=false')).not.toContain(id);
    expect(await ids('?archived=true')).toEqual([id]);
    expect((await admin.get(`/machines/${id}`)).body).toMatchObject({ id, archived: true, version: '1' });
    expect((await admin.patch(`/machines/${id}`, { archived: false })).body.archived).toBe(false);
    expect(await ids('')).toContain(id);
  });

  it('is not archived while a deployment uses it', async () => {
    const { machine, deployment } = catalogue.bed.tenant;
    const { status, body } = await admin.patch(`/machines/${machine.id}`, { archived: true, name: 'away' });
    expect(status).toBe(409);
    expect(body.detail).toContain(`"${deployment.name}" (${deployment.id})`);
    expect((await admin.get(`/machines/${machine.id}`)).body).toMatchObject({
      archived: false,
      name: machine.name,
    });
  });

  it.each([
    [
      'nothing',
      {},
      [
        ['name', 'missing'],
        ['gpu', 'missing'],
        ['runner', 'missing'],
      ],
    ],
    ['no object', [], [['', 'model_attributes_type']]],
    ['a GPU that is no name', { ...aMachine, gpu: 'RTX 4090' }, [['gpu', 'string_pattern_mismatch']]],
    ['a GPU with a long name', { ...aMachine, gpu: 'A'.repeat(41) }, [['gpu', 'string_pattern_mismatch']]],
    ['an empty name', { ...aMachine, name: '' }, [['name', 'string_pattern_mismatch']]],
    ['an unknown runner', { ...aMachine, runner: { kind: 'shell' } }, [['runner', 'union_tag_invalid']]],
    [
      'a model that is no name',
      { ...aMachine, runner: { kind: 'cog', model: 'r8.im/flux' } },
      [['runner.model', 'string_pattern_mismatch']],
    ],
    ['no program', { ...aMachine, runner: { kind: 'program' } }, [['runner.program', 'missing']]],
    [
      'credentials in the URL of ComfyUI',
      { ...aMachine, runner: { kind: 'comfyui', url: 'http://me:secret@gpu.example/' } },
      [['runner.url', 'url_parsing']],
    ],
    [
      'a file as the URL of ComfyUI',
      { ...aMachine, runner: { kind: 'comfyui', url: 'file:///etc/passwd' } },
      [['runner.url', 'url_parsing']],
    ],
    ['a type without end', { ...aMachine, type: 'x'.repeat(129) }, [['type', 'string_too_long']]],
  ])('is refused with %s', async (_what, body, wrong) => {
    expect(wrongIn(await admin.post('/machines', body))).toEqual(wrong);
  });

  it('accepts ComfyUI with and without a URL', async () => {
    for (const url of [undefined, null, 'https://gpu.example:8188/x']) {
      const { status, body } = await admin.post('/machines', {
        ...aMachine,
        runner: { kind: 'comfyui', url },
      });
      expect(status).toBe(201);
      expect(body).toMatchObject({ type: 'comfyui', runner: { kind: 'comfyui', ...(url ? { url } : {}) } });
    }
  });
});
