import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { numberOf } from '@runledger/contracts/exact-number';
import { describe, expect, it } from 'vitest';
import { bindInputs } from '../../../src/runners/comfyui/bind-inputs.decide.ts';
import { readWorkflow, type ComfyWorkflow } from '../../../src/runners/comfyui/workflow.decide.ts';
import { recordedCases, VERSIONS } from './recordings/recorded-cases.ts';
import { recordedPrompts } from './recordings/recorded-prompts.ts';

const external = (kind: string, inputs: Record<string, unknown>): ComfyWorkflow => ({
  '1': { class_type: `ComfyUIDeployExternal${kind}`, inputs },
});

const NONE = new Map();

const bound = (workflow: ComfyWorkflow, inputs: Record<string, unknown>): unknown => {
  const result = bindInputs(workflow, { inputs, served: NONE }, []);
  return result.kind === 'bound' ? result.workflow['1']?.inputs : result;
};

describe('inputs of a run', () => {
  it.each(VERSIONS)('are written where a client of %s wrote them', (version) => {
    const recorded = recordedCases(version).find(({ name }) => name === 'l-external-inputs');
    const [defaults, changed] = recordedPrompts(recorded ?? { version, name: '', lines: [] }).map(
      ({ workflow }) => {
        const read = readWorkflow(workflow);
        return read.kind === 'workflow' ? read.workflow : {};
      },
    );
    const values = { prompt: 'a blue house', strength: 0.75, width: 24, wide: true };
    expect(bindInputs(defaults ?? {}, { inputs: values, served: NONE }, [])).toEqual({
      kind: 'bound',
      workflow: changed,
      unbound: [],
    });
  });

  it('have the numbers that were sent, and so has the workflow', () => {
    const json = '{"1":{"class_type":"KSampler","inputs":{"noise_seed":1125899906842624123,"cfg":4.0}}}';
    const read = readWorkflow(parseJson(json));
    const targets = [{ name: 'seed', node: '1', field: 'seed' }];
    const seed = numberOf('18446744073709551615');
    const result = bindInputs(
      read.kind === 'workflow' ? read.workflow : {},
      { inputs: { seed }, served: NONE },
      targets,
    );
    expect(JSON.stringify(result)).toContain(
      '"inputs":{"noise_seed":1125899906842624123,"cfg":4.0,"seed":18446744073709551615}',
    );
  });

  it.each([
    ['Text', 'default_value'],
    ['Enum', 'default_value'],
    ['Audio', 'audio_file'],
    ['EXR', 'exr_file'],
    ['Lora', 'lora_url'],
    ['File', 'file_url'],
  ])('are the value of an external node of class %s in %s', (kind, field) => {
    expect(bound(external(kind, { input_id: 'x' }), { x: 'value' })).toMatchObject({ [field]: 'value' });
  });

  const served = new Map([
    ['x', { url: 'http://127.0.0.1:1/s/fox.png', contentName: '12ab.png' }],
    ['list', { url: ['http://127.0.0.1:1/s/0/a.png'], contentName: 'a.png' }],
  ]);

  it.each([
    ['Image', { input_id: 'http://127.0.0.1:1/s/fox.png' }],
    ['ImageAlpha', { input_id: 'http://127.0.0.1:1/s/fox.png' }],
    ['Video', { input_id: 'http://127.0.0.1:1/s/fox.png' }],
    ['File', { input_id: 'x', file_url: 'http://127.0.0.1:1/s/fox.png' }],
    ['Lora', { input_id: 'x', lora_url: 'http://127.0.0.1:1/s/fox.png', lora_save_name: '12ab.png' }],
    ['FaceModel', { face_model_url: 'http://127.0.0.1:1/s/fox.png', face_model_save_name: '12ab.png' }],
    ['ImageBatch', { images: '["http://127.0.0.1:1/s/fox.png"]' }],
    ['Audio', { audio_file: 'runledger/12ab.png' }],
  ])('that are files are given to an external node of class %s as it reads them', (kind, expected) => {
    const workflow = external(kind, { input_id: 'x' });
    const result = bindInputs(workflow, { inputs: { x: 'runledger/12ab.png' }, served }, []);
    expect(result).toMatchObject({ kind: 'bound', workflow: { '1': { inputs: expected } }, unbound: [] });
  });

  it('that are lists of files are a list of URLs in a batch', () => {
    const workflow = external('ImageBatch', { input_id: 'list', images: '[]' });
    expect(bindInputs(workflow, { inputs: { list: ['a.png'] }, served }, [])).toMatchObject({
      workflow: { '1': { inputs: { images: '["http://127.0.0.1:1/s/0/a.png"]' } } },
    });
  });

  it.each([
    ['Image', 'fox.png'],
    ['ImageAlpha', 'data:image/webp;base64,UklGRg=='],
    ['Video', 'data:image/png;base64,iVBO'],
    ['FaceModel', 'face.safetensors'],
    ['ImageBatch', ['http://example.com/a.png', 'b.png']],
    ['Seed', 0],
    ['Seed', numberOf('6687881544318117707')],
  ])('are refused where an external node of class %s would take its default for %s', (kind, x) => {
    const result = bindInputs(external(kind, { input_id: 'x' }), { inputs: { x }, served: NONE }, []);
    expect(result).toMatchObject({ kind: 'not_taken', input: 'x', node: '1' });
  });

  it.each([
    ['Image', 'https://example.com/fox.png'],
    ['Image', 'data:image/jpeg;base64,/9j/'],
    ['Image', null],
  ])('are taken where they are what one of class %s takes: %s', (kind, x) => {
    expect(bound(external(kind, { input_id: 'x' }), { x })).toEqual({ input_id: x });
  });

  it.each([
    ['Image', ['default_value', 'default_value_url']],
    ['ImageAlpha', ['default_value']],
    ['ImageBatch', ['default_value']],
    ['Video', ['default_video']],
    ['Lora', ['default_lora_name']],
    ['Audio', ['default_value']],
    ['EXR', ['default_image', 'default_mask']],
  ])('leave an external node of class %s no default beside a value', (kind, names) => {
    const defaults = Object.fromEntries(names.map((name) => [name, 'default']));
    const workflow = external(kind, { input_id: 'x', other: 1, ...defaults });
    const x = 'http://example.com/a';
    expect(Object.keys(bound(workflow, { x }) as object)).not.toEqual(expect.arrayContaining(names));
    expect(bound(workflow, { x })).toMatchObject({ other: 1 });
    expect(bound(workflow, { x: '' })).toMatchObject(defaults);
    expect(bound(workflow, {})).toMatchObject(defaults);
  });

  it.each([
    ['NumberInt', numberOf('18446744073709551615'), { input_id: '18446744073709551615' }],
    ['NumberInt', '6687881544318117707', { input_id: '6687881544318117707' }],
    ['NumberInt', -7, { input_id: 'x', default_value: -7 }],
    ['Number', 1e12, { input_id: '1000000000000' }],
    ['Number', 2.25, { input_id: 'x', default_value: 2.25 }],
    ['Number', 'hello', { input_id: 'x', default_value: 'hello' }],
    ['Seed', 999999999999, { default_value: 999999999999, min_value: 1, max_value: 999999999999999 }],
    ['Seed', -1, { default_value: -1, min_value: 5, max_value: 9 }],
  ])('of any size are the value of an external node of class %s: %s', (kind, x, expected) => {
    const bounds = kind === 'Seed' ? { min_value: 5, max_value: 9 } : {};
    expect(bound(external(kind, { input_id: 'x', ...bounds }), { x })).toMatchObject(expected);
  });

  it.each(['42', 'nan', '-Infinity', '1_000', '²'])(
    'do not make a number node take its id %s as its value',
    (id) => {
      expect(bound(external('Number', { input_id: id, default_value: 1 }), { [id]: 7 })).toEqual({
        input_id: `input ${id}`,
        default_value: 7,
      });
      expect(bound(external('Number', { input_id: id, default_value: 1 }), {})).toEqual({
        input_id: `input ${id}`,
        default_value: 1,
      });
    },
  );

  it('are values, also when they look like links to nodes', () => {
    expect(bound(external('TextAny', { input_id: 'x' }), { x: ['1', 0] })).toMatchObject({
      default_value: { __value__: ['1', 0] },
    });
  });

  it('are written into the node and field that the version names', () => {
    const workflow: ComfyWorkflow = { '5': { class_type: 'KSampler', inputs: { seed: 1, steps: 20 } } };
    const targets = [{ name: 'seed', node: '5', field: 'seed' }];
    expect(bindInputs(workflow, { inputs: { seed: 9, other: 'x' }, served: NONE }, targets)).toEqual({
      kind: 'bound',
      workflow: { '5': { class_type: 'KSampler', inputs: { seed: 9, steps: 20 } } },
      unbound: ['other'],
    });
    expect(bindInputs(workflow, { inputs: {}, served: NONE }, targets)).toMatchObject({ workflow });
    expect(
      bindInputs(workflow, { inputs: { seed: 9 }, served: NONE }, [
        { name: 'seed', node: '6', field: 'seed' },
      ]),
    ).toEqual({
      kind: 'no_such_node',
      input: 'seed',
      node: '6',
    });
  });

  it('leave the workflow itself as it is', () => {
    const workflow = external('Text', { input_id: 'x' });
    bindInputs(workflow, { inputs: { x: 'value' }, served: NONE }, []);
    expect(isJsonObject(workflow['1']?.inputs) && workflow['1'].inputs).toEqual({ input_id: 'x' });
  });
});
