import { createHash } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noPart } from '../../src/transfer/input-file.ts';
import type { FetchUrl } from '../../src/transfer/fetch-url.ts';
import { archiveOf, codeFetcherOf, manifestOf, openCode, uv, wheelOf } from '../code/versions.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

/** The folder of a real ComfyUI, and the Python that has its packages: both are large, so nothing here installs them. */
const { RUNLEDGER_TEST_COMFYUI: folder, RUNLEDGER_TEST_COMFYUI_PYTHON: python } = process.env;

const EXAMPLE = join(import.meta.dirname, '../../../../examples/folders/comfyui');
const choice = { kind: 'code', server: 'comfyui' } as const;

const NODE = `
import os, torch, folder_paths, comfy_words
class Paint:
    CATEGORY = "test"
    RETURN_TYPES = ("IMAGE",)
    FUNCTION = "run"
    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"size": ("INT", {"default": 8})}}
    def run(self, size):
        with open(folder_paths.get_full_path_or_raise("checkpoints", "sd15.safetensors")) as file:
            print("painted with " + file.read() + " and " + comfy_words.WORD, flush=True)
        return (torch.ones((1, size, size, 3)),)
NODE_CLASS_MAPPINGS = {"Paint": Paint}
`;

it.skipIf(folder === undefined || uv === null)(
  'a real ComfyUI has the node, the package and the model of a version, and stays for its next run',
  { timeout: 600_000 },
  async () => {
    const wheelHouse = temporaryFolder();
    chmodSync(wheelHouse, 0o755);
    const { filename, bytes } = wheelOf('comfy_words', '1.0', 'WORD = "words"\n');
    writeFileSync(join(wheelHouse, filename), bytes, { mode: 0o644 });
    const model = Buffer.from('weights');
    const fetchModel: FetchUrl = async (_url, { path, part = noPart() }) => {
      await writeFile(path, model);
      part.hash.update(model);
      part.bytes += model.byteLength;
      return { kind: 'fetched', bytes: model.byteLength, filename: 'file', content_type: '' };
    };
    const settings = {
      EXECUTOR_COMFYUI_FOLDER: folder,
      EXECUTOR_COMFYUI_PYTHON: python,
      EXECUTOR_PYTHON_INDEX: 'none',
      EXECUTOR_WHEEL_HOUSE: wheelHouse,
    };
    const { start } = await openCode(settings, { choice, fetchModel, device: '' });
    const archive = await archiveOf({
      'nodes/paint/__init__.py': NODE,
      // The one that ComfyUI has stays.
      'nodes/paint/requirements.txt': 'comfy_words\ntorch\n',
    });
    const manifest = manifestOf(archive, {
      comfyui: {
        workflow: {
          '1': { class_type: 'Paint', inputs: { size: 8 } },
          '2': { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'painted' } },
        },
        custom_nodes: { paint: { path: 'nodes/paint' } },
      },
      models: {
        'checkpoints/sd15.safetensors': {
          url: 'https://example.com/m',
          sha256: createHash('sha256').update(model).digest('hex'),
        },
      },
    });
    const inputTargets = [{ name: 'size', node: '1', field: 'size' }];
    const run = (size: number, nth: number) =>
      start(manifest, { fetchCode: codeFetcherOf(archive), inputs: { size }, inputTargets, nth });
    const cold = run(16, 1);
    const first = await cold.result;
    expect(first).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: expect.stringMatching(/^painted_.*\.png$/) }],
    });
    expect(cold.lines).toContainEqual({ stream: 'stdout', line: 'painted with weights and words' });
    const warm = run(24, 2);
    expect(await warm.result).toMatchObject({ outcome: 'succeeded', files: [{}] });
    expect(warm.begun).toEqual([0]);
  },
);

it.skipIf(folder === undefined)(
  'a real ComfyUI executes the folder of the examples',
  { timeout: 600_000 },
  async () => {
    const textOf = (path: string): string => readFileSync(join(EXAMPLE, path), 'utf8');
    const settings = { EXECUTOR_COMFYUI_FOLDER: folder, EXECUTOR_COMFYUI_PYTHON: python };
    const { start } = await openCode(settings, { choice, device: '' });
    const source = 'nodes/stripes/__init__.py';
    const archive = await archiveOf({ [source]: textOf(source) });
    const workflow: Record<string, unknown> = JSON.parse(textOf('workflow_api.json'));
    const manifest = manifestOf(archive, {
      comfyui: { workflow, custom_nodes: { stripes: { path: 'nodes/stripes' } } },
    });
    const run = start(manifest, {
      fetchCode: codeFetcherOf(archive),
      inputs: { stripes: 8 },
      inputTargets: [{ name: 'stripes', node: '1', field: 'stripes' }],
    });
    const result = await run.result;
    expect(result).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'stripes_8.png' }] });
    const [file] = 'files' in result ? result.files : [];
    expect(
      readFileSync(file?.path ?? '')
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  },
);
