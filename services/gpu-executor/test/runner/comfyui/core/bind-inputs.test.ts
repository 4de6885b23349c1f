import { isJsonObject, parseJson } from '@runledger/contracts/json';
import { numberOf } from '@runledger/contracts/numbers/exact-number';
import { describe, expect, it } from 'vitest';
import { bindInputs } from '../../../../src/runner/comfyui/core/bind-inputs.ts';
import { readWorkflow, type ComfyWorkflow } from '../../../../src/runner/comfyui/core/workflow.ts';
import { recordedCases, VERSIONS } from '../recordings/recorded-cases.ts';
import { recordedPrompts } from '../recordings/recorded-prompts.ts';

const external = (kind: string, inputs: Record<string, unknown>): ComfyWorkflow => ({
  '1': { class_type: `ComfyUIDeployExternal${kind}`, inputs },
});

const bound = (workflow: ComfyWorkflow, inputs: Record<string, unknown>): unknown => {
  const result = bindInputs(workflow, inputs, []);
  return result.kind === 'bound' ? result.workflow['1']?.inputs : result;
};

describe('inputs of a run', () => {
  it.each(VERSIONS)('are written where a client of %s wrote them', (version) => {
    const recorded = recordedCases(version).find(({ name }) => name === 'l-external-inputs');
    const [defaults, changed, picture] = recordedPrompts(recorded ?? { version, name: '', lines: [] }).map(
      ({ workflow }) => {
        const read = readWorkflow(workflow);
        return read.kind === 'workflow' ? read.workflow : {};
      },
    );
    const values = { prompt: 'a blue house', strength: 0.75, width: 24, wide: true };
    expect(bindInputs(defaults ?? {}, values, [])).toEqual({ kind: 'bound', workflow: changed, unbound: [] });
    const source = picture?.['6']?.inputs['input_id'];
    expect(bindInputs(defaults ?? {}, { source }, [])).toEqual({
      kind: 'bound',
      workflow: picture,
      unbound: [],
    });
  });

  it('have the numbers that were sent, and so has the workflow', () => {
    const json = '{"1":{"class_type":"KSampler","inputs":{"noise_seed":1125899906842624123,"cfg":4.0}}}';
    const read = readWorkflow(parseJson(json));
    const targets = [{ name: 'seed', node: '1', field: 'seed' }];
    const seed = numberOf('18446744073709551615');
    const result = bindInputs(read.kind === 'workflow' ? read.workflow : {}, { seed }, targets);
    expect(JSON.stringify(result)).toContain(
      '"inputs":{"noise_seed":1125899906842624123,"cfg":4.0,"seed":18446744073709551615}',
    );
  });

  it.each([
    ['Text', 'default_value'],
    ['Enum', 'default_value'],
    ['Image', 'input_id'],
    ['Video', 'input_id'],
    ['Audio', 'audio_file'],
    ['File', 'file_url'],
  ])('are the value of an external node of class %s in %s', (kind, field) => {
    expect(bound(external(kind, { input_id: 'x' }), { x: 'value' })).toMatchObject({ [field]: 'value' });
  });

  it('do not make a number node take its id as its value', () => {
    expect(bound(external('NumberInt', { input_id: '42', default_value: 1 }), { '42': 7 })).toEqual({
      input_id: 'input 42',
      default_value: 7,
    });
    expect(bound(external('NumberInt', { input_id: '42', default_value: 1 }), {})).toEqual({
      input_id: 'input 42',
      default_value: 1,
    });
  });

  it('are values, also when they look like links to nodes', () => {
    expect(bound(external('TextAny', { input_id: 'x' }), { x: ['1', 0] })).toMatchObject({
      default_value: { __value__: ['1', 0] },
    });
  });

  it('are written into the node and field that the version names', () => {
    const workflow: ComfyWorkflow = { '5': { class_type: 'KSampler', inputs: { seed: 1, steps: 20 } } };
    const targets = [{ name: 'seed', node: '5', field: 'seed' }];
    expect(bindInputs(workflow, { seed: 9, other: 'x' }, targets)).toEqual({
      kind: 'bound',
      workflow: { '5': { class_type: 'KSampler', inputs: { seed: 9, steps: 20 } } },
      unbound: ['other'],
    });
    expect(bindInputs(workflow, {}, targets)).toMatchObject({ workflow });
    expect(bindInputs(workflow, { seed: 9 }, [{ name: 'seed', node: '6', field: 'seed' }])).toEqual({
      kind: 'no_such_node',
      input: 'seed',
      node: '6',
    });
  });

  it('leave the workflow itself as it is', () => {
    const workflow = external('Text', { input_id: 'x' });
    bindInputs(workflow, { x: 'value' }, []);
    expect(isJsonObject(workflow['1']?.inputs) && workflow['1'].inputs).toEqual({ input_id: 'x' });
  });
});
