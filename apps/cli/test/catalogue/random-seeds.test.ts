import { numberOf } from '@runledger/contracts/exact-number';
import type { JsonValue } from '@runledger/contracts/json';
import { describe, expect, it } from 'vitest';
import { randomSeeds } from '../../src/catalogue/plan-version.ts';

const sampler = (inputs: object = {}): JsonValue => ({
  class_type: 'KSampler',
  inputs: { seed: numberOf('6687881544318117707'), ...inputs } as JsonValue,
});
const drawn = { type: 'integer', random: true };

describe('the seeds of a workflow', () => {
  it('that are numbers become random inputs', () => {
    expect(randomSeeds({ '3': sampler(), '4': { class_type: 'VAEDecode', inputs: {} } }, [])).toEqual([
      { name: 'seed', node: '3', field: 'seed', ...drawn },
    ]);
  });

  it('have names of their own', () => {
    const workflow = {
      '3': sampler(),
      '5': { class_type: 'RandomNoise', inputs: { noise_seed: 1 } },
      '6': { class_type: 'Both', inputs: { seed: 1, noise_seed: 2 } },
    };
    const names = randomSeeds(workflow, [{ name: 'seed_3' }]).map(({ name }) => name);
    expect(names).toEqual(['seed_3_2', 'seed_5', 'seed_6', 'seed_6_2']);
  });

  it('that come from another node or from an input are left as they are', () => {
    const workflow = { '3': sampler({ seed: ['7', 0] }), '4': sampler() };
    expect(randomSeeds(workflow, [{ name: 'mine', node: '4', field: 'seed' }])).toEqual([]);
  });

  it('that the editor calls fixed stay so', () => {
    const nodes = [
      { id: 3, type: 'KSampler', widgets_values: [1, 'fixed', 20] },
      { id: 4, type: 'KSampler', widgets_values: [1, 'randomize', 20] },
    ];
    const workflow: JsonValue = {
      prompt: { '3': sampler(), '4': sampler() },
      extra_data: { extra_pnginfo: { workflow: { nodes, links: [] } } },
    };
    expect(randomSeeds(workflow, []).map(({ node }) => node)).toEqual(['4']);
  });

  it('that a node of ComfyUI Deploy draws become inputs that it takes', () => {
    const external = (default_value: number): JsonValue => ({
      class_type: 'ComfyUIDeployExternalSeed',
      inputs: { input_id: 'noise', default_value },
    });
    expect(randomSeeds({ '1': external(-1) }, [])).toEqual([
      { name: 'noise', minimum: 1, maximum: 999999999999999, ...drawn },
    ]);
    expect(randomSeeds({ '1': external(7) }, [])).toEqual([]);
    expect(randomSeeds({ '1': external(-1) }, [{ name: 'noise' }])).toEqual([]);
  });

  it('are none where a workflow is for no ComfyUI', () => {
    expect(randomSeeds({ seed: 1, 'a b': { inputs: [1] } }, [])).toEqual([]);
    expect(randomSeeds(null, [])).toEqual([]);
  });
});
