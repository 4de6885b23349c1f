import { createHash } from 'node:crypto';
import { newUuid } from '@runledger/contracts/ids';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aCatalogueApi, wrongIn, type CatalogueApi, type Client } from './a-catalogue.ts';

let catalogue: CatalogueApi;
let admin: Client;
beforeAll(async () => {
  catalogue = await aCatalogueApi();
  admin = await catalogue.admin();
});
afterAll(() => catalogue[Symbol.asyncDispose]());

const aWorkflow = async (): Promise<string> => (await admin.post('/workflows', { name: 'fractal' })).body.id;
const aVersionOf = async (id: string, request: object = { workflow: { kind: 'fractal' } }) =>
  (await admin.post(`/workflows/${id}/versions`, request)).body;

describe('a workflow', () => {
  it('is created, read, listed, renamed, archived and restored', async () => {
    const { status, body } = await admin.post('/workflows', { name: 'fractal' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      org_id: catalogue.bed.tenant.org_id,
      name: 'fractal',
      archived: false,
      created_at: expect.any(String),
    });
    expect((await admin.get(`/workflows/${body.id}`)).body).toEqual(body);
    expect((await admin.get('/workflows')).body.workflows).toContainEqual(body);
    const archived = await admin.patch(`/workflows/${body.id}`, { name: 'new', archived: true });
    expect(archived.body).toEqual({ ...body, name: 'new', archived: true });
    expect((await admin.get('/workflows')).body.workflows).not.toContainEqual(archived.body);
    expect((await admin.get('/workflows?archived=true')).body.workflows).toContainEqual(archived.body);
    const back = await admin.patch(`/workflows/${body.id}`, { archived: false });
    expect(back.body).toEqual({ ...body, name: 'new' });
  });

  it('accepts no new versions and no new deployments while it is archived', async () => {
    const id = await aWorkflow();
    const version = await aVersionOf(id);
    await admin.patch(`/workflows/${id}`, { archived: true });
    expect(await admin.post(`/workflows/${id}/versions`, { workflow: 1 })).toMatchObject({
      status: 409,
      body: { detail: /archived.*Restore it first/ },
    });
    const { machine } = catalogue.bed.tenant;
    const request = { name: 'x', machine_id: machine.id, workflow_version_id: version.id };
    expect(wrongIn(await admin.post('/deployments', request))).toEqual([
      ['workflow_version_id', 'value_error'],
    ]);
  });

  it('is not archived while a deployment uses one of its versions', async () => {
    const id = await aWorkflow();
    const version = await aVersionOf(id);
    const { machine } = catalogue.bed.tenant;
    const request = { name: 'shop', machine_id: machine.id, workflow_version_id: version.id };
    const deployment = (await admin.post('/deployments', request)).body;
    for (const path of [`/workflows/${id}`, `/workflows/${id}/versions/${version.id}`]) {
      const { status, body } = await admin.patch(path, { archived: true });
      expect({ status, detail: body.detail }).toEqual({
        status: 409,
        detail: expect.stringContaining(`"shop" (${deployment.id})`),
      });
    }
    await admin.patch(`/deployments/${deployment.id}`, { archived: true });
    for (const path of [`/workflows/${id}/versions/${version.id}`, `/workflows/${id}`]) {
      expect(await admin.patch(path, { archived: true })).toMatchObject({
        status: 200,
        body: { archived: true },
      });
    }
  });
});

describe('a version of a workflow', () => {
  it.each([
    [{ nodes: [{ id: 3, type: 'KSampler' }], links: [[1, 3, 0, 4, 0, 'LATENT']], version: 0.4 }],
    [{ nodes: [], links: [], last_node_id: 0 }],
  ])("is refused in the format of ComfyUI's editor, with what to do: %j", async (workflow) => {
    const { status, body } = await admin.post(`/workflows/${await aWorkflow()}/versions`, { workflow });
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ['body', 'workflow', 'nodes'],
          type: 'value_error',
          msg: expect.stringContaining('Workflow, Export (API)'),
        },
      ],
    ]);
  });

  it.each([[{ nodes: [{ kind: 'render' }] }], [{ nodes: ['a'], links: [] }], [{ nodes: 3, links: [] }]])(
    'may be a graph of its own: %j',
    async (workflow) =>
      expect((await admin.post(`/workflows/${await aWorkflow()}/versions`, { workflow })).status).toBe(201),
  );

  it('is refused for members that a definition does not have, each with the one that is probably meant', async () => {
    const inputs = [
      { name: 'steps', type: 'integer', min: 1, mni: 1, max: 5, maxmum: 5, requird: true, unit: 'px' },
    ];
    const { status, body } = await admin.post(`/workflows/${await aWorkflow()}/versions`, {
      workflow: {},
      inputs,
    });
    expect(status).toBe(422);
    const meant = (member: string, means: string) => ({
      loc: ['body', 'inputs', 0, member],
      type: 'extra_forbidden',
      msg: expect.stringContaining(means),
    });
    expect(body.detail).toEqual([
      meant('min', 'did you mean minimum?'),
      meant('mni', 'did you mean minimum?'),
      meant('max', 'did you mean maximum?'),
      meant('maxmum', 'did you mean maximum?'),
      meant('requird', 'did you mean required?'),
      meant('unit', 'A definition has name, type,'),
    ]);
  });

  it('is created with the next number and the SHA-256 of its JSON text', async () => {
    const id = await aWorkflow();
    const text = '{"10":{"class":"Sampler"},"9":[1e2,-0.5,"ü"],"__proto__":{"a":1},"z":null}';
    // Members in the form of numbers come first, in their order, wherever JSON is read by JavaScript.
    const stored = JSON.stringify(JSON.parse(text));
    const inputs = [
      { name: 'prompt', type: 'string', required: true, default: null, description: 'What is drawn' },
      { name: 'steps', type: 'integer', default: 20, minimum: 1, maximum: 50, enum: null },
      { name: 'sampler', type: 'string', enum: ['euler', 'ddim'], minimum: null },
    ];
    const { status, body } = await admin.post(`/workflows/${id}/versions`, {
      workflow: JSON.parse(text),
      inputs,
    });
    expect(status).toBe(201);
    expect(JSON.stringify(body.workflow)).toBe(stored);
    expect(body).toMatchObject({
      workflow_id: id,
      number: 1,
      sha256: createHash('sha256').update(stored).digest('hex'),
      inputs: [
        { name: 'prompt', type: 'string', required: true, description: 'What is drawn' },
        { name: 'steps', type: 'integer', required: false, default: 20, minimum: 1, maximum: 50 },
        { name: 'sampler', type: 'string', required: false, enum: ['euler', 'ddim'] },
      ],
      archived: false,
    });
    expect(body.inputs[0]).not.toHaveProperty('default');
    expect((await admin.get(`/workflows/${id}/versions/${body.id}`)).body).toEqual(body);
    expect(await aVersionOf(id)).toMatchObject({ number: 2 });
  });

  it.each([{ workflow: null }, { workflow: 5 }, { workflow: 'text' }, { workflow: [] }, { workflow: {} }])(
    'is of any JSON: %j',
    async ({ workflow }) => {
      expect(await aVersionOf(await aWorkflow(), { workflow })).toMatchObject({ workflow, inputs: [] });
    },
  );

  it('has a unique number when twenty are created at once', async () => {
    const id = await aWorkflow();
    const versions = await Promise.all(Array.from({ length: 20 }, () => aVersionOf(id)));
    const twenty = Array.from({ length: 20 }, (_, index) => index + 1);
    expect(versions.map(({ number }) => number).sort((a, b) => a - b)).toEqual(twenty);
    const listed = (await admin.get(`/workflows/${id}/versions?limit=100`)).body.versions;
    expect(listed.map(({ number }: { number: number }) => number)).toEqual(twenty.toReversed());
    expect(versions.find(({ number }) => number === 20)).toMatchObject(listed[0]);
    expect(listed[0]).not.toHaveProperty('workflow');
  });

  it('changes only in `archived`', async () => {
    const id = await aWorkflow();
    const version = await aVersionOf(id);
    const path = `/workflows/${id}/versions/${version.id}`;
    const { body } = await admin.patch(path, {
      archived: true,
      workflow: 'another',
      number: 7,
      inputs: null,
    });
    expect(body).toEqual({ ...version, archived: true });
    expect((await admin.get(path)).body).toEqual(body);
    expect((await admin.get(`/workflows/${id}/versions`)).body.versions).toEqual([]);
    expect((await admin.get(`/workflows/${id}/versions?archived=true`)).body.versions).toHaveLength(1);
    expect((await admin.patch(path, { archived: false })).body).toEqual(version);
  });

  it('is found under its own workflow only', async () => {
    const version = await aVersionOf(await aWorkflow());
    expect(await admin.get(`/workflows/${await aWorkflow()}/versions/${version.id}`)).toMatchObject({
      status: 404,
      body: { detail: 'Workflow version not found' },
    });
    expect((await admin.get(`/workflows/${newUuid()}/versions/${version.id}`)).status).toBe(404);
  });

  it.each([
    ['no workflow', {}, [['workflow', 'missing']]],
    ['a workflow that nests deeply', { workflow: nested(33) }, [['workflow', 'json_invalid']]],
    ['a workflow that nests without end', { workflow: nested(1_000) }, [['workflow', 'json_invalid']]],
    ['inputs that are no list', { workflow: 1, inputs: {} }, [['inputs', 'list_type']]],
    [
      'a default of another type, a name twice and an unknown type',
      {
        workflow: 1,
        inputs: [
          { name: 'a', type: 'integer', default: 1.5 },
          { name: 'a', type: 'array', default: 'b' },
          { name: 'c', type: 'object' },
          { name: 'd', type: 'boolean', default: 1 },
        ],
      },
      [
        ['inputs.2.type', 'enum'],
        ['inputs.0.default', 'value_error'],
        ['inputs.1.name', 'value_error'],
        ['inputs.1.default', 'value_error'],
        ['inputs.3.default', 'value_error'],
      ],
    ],
    [
      'bounds and lists that no value or no default fits',
      {
        workflow: 1,
        inputs: [
          { name: 'a', type: 'integer', minimum: 5, maximum: 4 },
          { name: 'b', type: 'string', minimum: 5 },
          { name: 'c', type: 'boolean', enum: ['x'] },
          { name: 'd', type: 'integer', enum: [1, 2.5] },
          { name: 'e', type: 'number', enum: [1, 9], maximum: 5 },
          { name: 'f', type: 'string', enum: ['x'], default: 'y' },
          { name: 'g', type: 'number', minimum: 0, default: -1 },
          { name: 'h', type: 'string', enum: [] },
          { name: 'i', type: 'string', enum: [true] },
        ],
      },
      [
        ['inputs.7.enum', 'too_short'],
        ['inputs.8.enum.0', 'string_type'],
        ['inputs.0.maximum', 'value_error'],
        ['inputs.1.minimum', 'value_error'],
        ['inputs.2.enum', 'value_error'],
        ['inputs.3.enum', 'value_error'],
        ['inputs.4.enum', 'value_error'],
        ['inputs.5.default', 'value_error'],
        ['inputs.6.default', 'value_error'],
      ],
    ],
    [
      'nodes that the workflow does not have, or half of a target',
      {
        workflow: { '3': { class_type: 'KSampler', inputs: { seed: 1 } }, '4': { class_type: 'Note' } },
        inputs: [
          { name: 'a', type: 'integer', node: '3', field: 'seed' },
          { name: 'b', type: 'integer', node: '3' },
          { name: 'c', type: 'integer', field: 'seed' },
          { name: 'd', type: 'integer', node: '5', field: 'seed' },
          { name: 'e', type: 'integer', node: '4', field: 'seed' },
          { name: 'f', type: 'integer', node: 3, field: 'seed' },
          { name: 'g', type: 'integer', node: 'toString', field: 'seed' },
        ],
      },
      [
        ['inputs.5.node', 'string_type'],
        ['inputs.1.field', 'value_error'],
        ['inputs.2.node', 'value_error'],
        ['inputs.3.node', 'value_error'],
        ['inputs.4.node', 'value_error'],
        ['inputs.6.node', 'value_error'],
      ],
    ],
    [
      'more inputs than there may be',
      {
        workflow: 1,
        inputs: Array.from({ length: 257 }, (_, index) => ({ name: `${index}`, type: 'string' })),
      },
      [['inputs', 'too_long']],
    ],
  ])('is refused with %s', async (_what, request, wrong) => {
    expect(wrongIn(await admin.post(`/workflows/${await aWorkflow()}/versions`, request))).toEqual(wrong);
  });

  it('may have 32 levels and 512 KiB, and no more', async () => {
    const id = await aWorkflow();
    expect((await admin.post(`/workflows/${id}/versions`, { workflow: nested(32) })).status).toBe(201);
    const most = 'x'.repeat(512 * 1024 - 2);
    expect((await admin.post(`/workflows/${id}/versions`, { workflow: most })).status).toBe(201);
    const larger = await admin.post(`/workflows/${id}/versions`, { workflow: `${most}y` });
    expect(larger).toMatchObject({ status: 413, body: { detail: /524288 bytes/ } });
    const inputs = [{ name: 'a', type: 'string', default: 'x'.repeat(64 * 1024) }];
    expect((await admin.post(`/workflows/${id}/versions`, { workflow: 1, inputs })).status).toBe(413);
  });
});

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}
