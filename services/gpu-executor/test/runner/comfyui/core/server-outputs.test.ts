import fc from 'fast-check';
import { join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inRunFolder, placeOfFile, runFolder } from '../../../../src/runner/comfyui/core/run-folder.ts';
import { readOutputs } from '../../../../src/runner/comfyui/core/server-outputs.ts';

const FOLDER = runFolder('run-1', 2);
const file = (subfolder: string, filename: string, type = 'output'): Parameters<typeof placeOfFile>[0] => ({
  node: '1',
  filename,
  subfolder,
  type,
});

describe('the outputs of a prompt', () => {
  it('are files of any kind, each once, and all else as text, in the order of the nodes', () => {
    const saved = { filename: 'a.png', subfolder: '', type: 'output' };
    expect(
      readOutputs({
        '10': {
          text: ['last'],
          gifs: [{ filename: 'b.gif', subfolder: 'x', type: 'output', frame_rate: 8 }],
        },
        '9': { images: [saved, saved], animated: [true], text: 'first', score: [null, 0.5, { top: 1 }] },
        '2': { images: [{ filename: 'in.png', subfolder: '', type: 'input' }] },
        '1': null,
      }),
    ).toEqual({
      data: { text: ['first', 'last'], score: ['null', '0.5', '{"top":1}'] },
      files: [
        { node: '9', filename: 'a.png', subfolder: '', type: 'output' },
        { node: '10', filename: 'b.gif', subfolder: 'x', type: 'output' },
      ],
    });
  });
});

describe('the files of an attempt', () => {
  it('are saved in a folder of their own', () => {
    const workflow = {
      '1': { class_type: 'SaveImage', inputs: { filename_prefix: 'cats/cat', images: ['2', 0] } },
      '2': { class_type: 'EmptyImage', inputs: { width: 1 } },
      '3': { class_type: 'SaveImage', inputs: { filename_prefix: ['4', 0] } },
    };
    expect(inRunFolder(workflow, FOLDER)).toEqual({
      ...workflow,
      '1': {
        class_type: 'SaveImage',
        inputs: { filename_prefix: 'runledger/run-1-2/cats/cat', images: ['2', 0] },
      },
    });
  });

  it.each([
    [file('runledger/run-1-2/cats', 'cat_00001_.png'), 'cats/cat_00001_.png'],
    [file('runledger\\run-1-2\\cats', 'cat_00001_.png'), 'cats/cat_00001_.png'],
    [file('runledger/run-1-2', 'cat_00001_.png'), 'cat_00001_.png'],
    [file('elsewhere', 'cat_00001_.png'), 'elsewhere/cat_00001_.png'],
    [file('', 'ComfyUI_temp_00001_.png', 'temp'), 'temp/ComfyUI_temp_00001_.png'],
  ])('lie in the output folder of the run without it: %j', (found, path) => {
    expect(placeOfFile(found, FOLDER)?.join('/')).toBe(path);
  });

  it.each([file('..', 'a'), file('', '../a'), file('', ''), file('a/../../b', 'c'), file('', 'a\0b')])(
    'lie nowhere with the name of %j',
    (found) => {
      expect(placeOfFile(found, FOLDER)).toBeNull();
    },
  );

  it('never lie outside of it', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('..', '/', 'a/../..', '\\..\\', '/etc'));
    fc.assert(
      fc.property(text, text, (subfolder, filename) => {
        const place = placeOfFile(file(subfolder, filename), FOLDER);
        const path = normalize(join('/out', ...(place ?? ['nowhere'])));
        expect(path.startsWith('/out/')).toBe(true);
      }),
    );
  });
});
