import { describe, expect, it } from 'vitest';
import { comfyNodes } from '../src/deploy/graph/comfy-nodes.ts';
import { nodeState } from '../src/deploy/graph/node-state.ts';
import { layOut, NODE_WIDTH } from '../src/deploy/graph/lay-out.ts';

const WORKFLOW = {
  '3': { class_type: 'KSampler', inputs: { steps: 20, model: ['4', 0], positive: ['6', 0] } },
  '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'a.safetensors' } },
  '6': {
    class_type: 'CLIPTextEncode',
    inputs: { text: ['gone', 0], clip: ['4', 1] },
    _meta: { title: 'Prompt' },
  },
};

describe('a workflow of ComfyUI', () => {
  it('may be the body that the page of ComfyUI sends', () => {
    expect(comfyNodes({ prompt: WORKFLOW, extra_data: {} })).toEqual(comfyNodes(WORKFLOW));
  });

  it('has nodes with their titles, and links to nodes that are there', () => {
    expect(comfyNodes(WORKFLOW)).toEqual([
      {
        id: '3',
        type: 'KSampler',
        title: 'KSampler',
        from: [
          { input: 'model', id: '4' },
          { input: 'positive', id: '6' },
        ],
      },
      { id: '4', type: 'CheckpointLoaderSimple', title: 'CheckpointLoaderSimple', from: [] },
      { id: '6', type: 'CLIPTextEncode', title: 'Prompt', from: [{ input: 'clip', id: '4' }] },
    ]);
  });

  it.each([[{}], [{ palette: 'ember' }], [{ '3': { class_type: 'KSampler' } }], [null], ['text'], [[1]]])(
    'is not %j',
    (workflow) => {
      expect(comfyNodes(workflow)).toBeUndefined();
    },
  );

  it('is laid out from left to right, all within its box', () => {
    const { nodes, edges, box } = layOut(comfyNodes(WORKFLOW) ?? []);
    const x = (id: string): number => nodes.find((node) => node.id === id)?.x ?? Number.NaN;
    expect(x('6') - x('4')).toBeGreaterThan(NODE_WIDTH);
    expect(x('3') - x('6')).toBeGreaterThan(NODE_WIDTH);
    expect(edges.map(({ key }) => key).toSorted()).toEqual(['4 3', '4 6', '6 3']);
    const [left, top, width, height] = box;
    for (const point of edges.flatMap(({ points }) => points)) {
      expect(point.x >= left && point.x <= left + width).toBe(true);
      expect(point.y >= top && point.y <= top + height).toBe(true);
    }
  });
});

describe('a node', () => {
  const node = { id: '3', title: 'Sampler', type: 'KSampler' };

  it.each([
    ['Sampler', undefined, 'running'],
    ['Sampler 3/20', undefined, 'running'],
    ['Sampler: a text', undefined, 'running'],
    ['Samplers 3/20', undefined, 'idle'],
    ['Prompt', undefined, 'idle'],
    [null, undefined, 'idle'],
    [null, '3', 'failed'],
    [null, 'Sampler', 'failed'],
    [null, 'Prompt', 'idle'],
  ] as const)('of a run that says %j and failed in %j is %s', (liveStatus, failed, state) => {
    expect(nodeState(node, { liveStatus, failed })).toBe(state);
  });
});
