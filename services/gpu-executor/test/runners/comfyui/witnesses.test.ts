import { describe, expect, it } from 'vitest';
import { unreadInput, uncheckedInputs, witnessesOf } from '../../../src/runners/comfyui/witnesses.decide.ts';

const external = (kind: string): object => ({
  class_type: `ComfyUIDeployExternal${kind}`,
  inputs: { input_id: 'x' },
});
const workflowOf = (kind: string): never =>
  ({ '2': external(kind), '3': { class_type: 'Next', inputs: { value: ['2', 0] } } }) as never;

const said = (kind: string, text: unknown): unknown => {
  const workflow = workflowOf(kind);
  const witnesses = witnessesOf(workflow, workflow, { x: 'value' });
  const outputs = Object.fromEntries([...witnesses.keys()].map((id) => [id, { text: [text] }]));
  return unreadInput(workflow, witnesses, outputs)?.kind ?? uncheckedInputs(witnesses, outputs)[0]?.kind;
};

describe('what a node of ComfyUI Deploy has, in the words of a preview', () => {
  // As ComfyUI 0.8.0 and 0.3.64 said them.
  it.each([
    ['Audio', 'None'],
    ['EXR', 'None'],
    ['Image', 'None'],
    ['Image', '<PIL.JpegImagePlugin.JpegImageFile image mode=RGB size=48x32 at 0x7F21>'],
    ['ImageAlpha', '<PIL.JpegImagePlugin.JpegImageFile image mode=RGB size=48x32 at 0x7F21>'],
    ['ImageBatch', 'None'],
    ['File', ''],
  ])('is nothing: %s, %s', (kind, text) => {
    expect(said(kind, text)).toBe('invalid_inputs');
  });

  it.each([
    ['Audio', "{'waveform': tensor([[[0.0000, 0.1198,  ..., 0.2820]]]), 'sample_rate': 8000}"],
    ['EXR', 'tensor([[[[0.5000, 0.5000, 0.5000]]]])'],
    ['Image', 'tensor([[[[0.5000, 0.5000, 0.5000]]]])'],
    ['File', '/opt/ComfyUI/temp/None.bin'],
    ['File', 'None'],
  ])('is something: %s, %s', (kind, text) => {
    expect(said(kind, text)).toBeUndefined();
  });

  it('is not known when the preview has no text', () => {
    expect(said('Audio', undefined)).toBe('unchecked_input');
  });

  it.each(['Text', 'Lora', 'Video', 'NumberInt'])('is not asked of %s, which fails aloud', (kind) => {
    expect(witnessesOf(workflowOf(kind), workflowOf(kind), { x: 'value' }).size).toBe(0);
  });
});
