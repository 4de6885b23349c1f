import fc from 'fast-check';
import { join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readNodeClass } from '../../../src/runners/comfyui/workflow.decide.ts';
import {
  inRunFolder,
  pathOfFile,
  runFolder,
  silentNodes,
  readOutputs,
} from '../../../src/runners/comfyui/outputs.decide.ts';

const FOLDER = runFolder('run-1', 2);

/** As a server with the nodes of some packages describes them. */
const CLASSES = new Map(
  Object.entries({
    SaveImage: { python_module: 'nodes', output_node: true },
    PreviewImage: { python_module: 'nodes', output_node: true },
    EmptyImage: { python_module: 'nodes', output_node: false },
    SaveImageDataSetToFolder: {
      python_module: 'comfy_extras.nodes_dataset',
      output_node: true,
      input: { required: { filename_prefix: ['STRING'], folder_name: ['STRING'] } },
    },
    VHS_VideoCombine: { python_module: 'custom_nodes.comfyui-videohelpersuite', output_node: true },
    'Image Save': { python_module: 'custom_nodes.was-node-suite-comfyui', output_node: true },
    CasePlainSaver: { python_module: 'custom_nodes.case', output_node: true },
  }).map(([class_type, info]) => [class_type, readNodeClass(class_type, info)]),
);
const file = (subfolder: string, filename: string, type = 'output'): Parameters<typeof pathOfFile>[0] => ({
  node: '1',
  filename,
  subfolder,
  type,
});

describe('the outputs of a prompt', () => {
  it('are those of its nodes: files of any kind, each once, and all else as text', () => {
    const saved = { filename: 'a.png', subfolder: '', type: 'output' };
    expect(
      readOutputs({
        '10': {
          text: ['last'],
          gifs: [
            saved,
            { filename: 'b.gif', subfolder: 'x', type: 'output', frame_rate: 8, output_id: 'clip' },
          ],
        },
        '9': { images: [saved, saved], animated: [true], text: 'first', score: [null, 0.5, { top: 1 }] },
        '2': { images: [{ filename: 'in.png', subfolder: '', type: 'input' }] },
        '1': null,
      }),
    ).toEqual([
      { node: '2', output_id: null, data: {}, files: [], namesFiles: false },
      {
        node: '9',
        output_id: null,
        data: { text: ['first'], score: ['null', '0.5', '{"top":1}'] },
        files: [{ node: '9', filename: 'a.png', subfolder: '', type: 'output' }],
        namesFiles: true,
      },
      {
        node: '10',
        output_id: 'clip',
        data: { text: ['last'] },
        files: [{ node: '10', filename: 'b.gif', subfolder: 'x', type: 'output' }],
        namesFiles: true,
      },
    ]);
  });
});

describe('an output node', () => {
  it('that names a file of another one has made something', () => {
    const same = { images: [{ filename: 'a.png', subfolder: '', type: 'output' }] };
    const outputs = { '1': same, '2': same, '3': { images: [] } };
    const save = { class_type: 'SaveImage', inputs: {} };
    const workflow = { '1': save, '2': save, '3': save };
    const said = { workflow, outputs, classes: CLASSES, read: readOutputs(outputs) };
    expect(silentNodes(said)).toEqual(['3']);
  });

  it('is executed although another one of its class is given the same', () => {
    const preview = { class_type: 'PreviewImage', inputs: { images: ['1', 0] } };
    const save = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'a' } };
    const own = { class_type: 'CasePlainSaver', inputs: { images: ['1', 0] } };
    const empty = { class_type: 'EmptyImage', inputs: {} };
    const workflow = {
      '1': empty,
      '2': preview,
      '3': preview,
      '4': save,
      '5': save,
      '6': own,
      '7': own,
      '8': empty,
    };
    const attempt = inRunFolder(workflow, FOLDER, CLASSES);
    const inputs = Object.values(attempt).map((node) => JSON.stringify(node.inputs));
    expect(new Set(inputs.slice(1, 7)).size).toBe(6);
    expect([attempt['2'], attempt['8']]).toEqual([preview, empty]);
  });
});

describe('the files of an attempt', () => {
  it('are saved in a folder of their own, where ComfyUI itself resolves the prefix', () => {
    const workflow = {
      '1': { class_type: 'SaveImage', inputs: { filename_prefix: 'cats/cat', images: ['2', 0] } },
      '2': { class_type: 'EmptyImage', inputs: { width: 1 } },
      '3': { class_type: 'SaveImage', inputs: { filename_prefix: ['4', 0] } },
      '4': { class_type: 'Unknown', inputs: { filename_prefix: 'a' } },
      '5': { class_type: 'VHS_VideoCombine', inputs: { filename_prefix: 'film' } },
      '6': { class_type: 'PreviewImage', inputs: {} },
    };
    expect(inRunFolder(workflow, FOLDER, CLASSES)).toMatchObject({
      ...workflow,
      '1': {
        class_type: 'SaveImage',
        inputs: { filename_prefix: 'runledger/run-1-2/cats/cat', images: ['2', 0] },
      },
      '5': { class_type: 'VHS_VideoCombine', inputs: { filename_prefix: 'runledger/run-1-2/film' } },
    });
  });

  it.each(['Image Save', 'CasePlainSaver', 'SaveImageDataSetToFolder'])(
    'have the names that a node of class %s gives them, which is executed again for each attempt',
    (class_type) => {
      const inputs = { filename_prefix: 'portrait', output_path: 'by-date' };
      const node = inRunFolder({ '1': { class_type, inputs } }, FOLDER, CLASSES)['1'];
      expect(node?.inputs).toEqual({ ...inputs, runledger_attempt: FOLDER });
    },
  );

  it.each([
    [file('runledger/run-1-2/cats', 'cat_00001_.png'), 'cats/cat_00001_.png'],
    [file('runledger\\run-1-2\\cats', 'cat_00001_.png'), 'cats/cat_00001_.png'],
    [file('runledger/run-1-2', 'cat_00001_.png'), 'cat_00001_.png'],
    [file('elsewhere', 'cat_00001_.png'), 'elsewhere/cat_00001_.png'],
    [file('', 'ComfyUI_temp_00001_.png', 'temp'), 'temp/ComfyUI_temp_00001_.png'],
  ])('lie in the output folder of the run without it: %j', (found, path) => {
    expect(pathOfFile(found, FOLDER)?.join('/')).toBe(path);
  });

  it.each([file('..', 'a'), file('', '../a'), file('', ''), file('a/../../b', 'c'), file('', 'a\0b')])(
    'lie nowhere with the name of %j',
    (found) => {
      expect(pathOfFile(found, FOLDER)).toBeNull();
    },
  );

  it('never lie outside of it', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('..', '/', 'a/../..', '\\..\\', '/etc'));
    fc.assert(
      fc.property(text, text, (subfolder, filename) => {
        const place = pathOfFile(file(subfolder, filename), FOLDER);
        const path = normalize(join('/out', ...(place ?? ['nowhere'])));
        expect(path.startsWith('/out/')).toBe(true);
      }),
    );
  });
});
