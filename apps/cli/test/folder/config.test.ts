import { describe, expect, it } from 'vitest';
import { readFolderConfig } from '../../src/folder/config.ts';
import { codeFolder } from '../fixtures/code-folder.ts';

const SHA = 'a'.repeat(64);

const comfyui = (more: string, above = ''): string => `${above}\n[comfyui]\nworkflow = "w.json"\n${more}\n`;

const reading = (toml: string) => readFolderConfig(codeFolder({ 'runledger.toml': toml }));

describe('the file of a folder', () => {
  it('says what is executed, where and with which settings', async () => {
    const config = await reading(`
name = "portraits"
run = "src/predict.py:predict"
gpus = ["L4", { gpu = "A10G", after_s = 60 }]
python = "3.11"
requirements = "requirements.txt"
idle_timeout_s = 600
run_timeout_s = 90
labels = ["zone:eu"]
retry = { attempts = 5 }

[env]
HF_HUB_OFFLINE = "1"

[models]
"sdxl/unet.safetensors" = { url = "https://example.com/unet", sha256 = "${SHA}" }

[inputs]
seed = { type = "integer", maximum = 18446744073709551615 }
prompt = { type = "string", required = true }
`);
    expect(config).toEqual({
      file: 'runledger.toml',
      name: 'portraits',
      localModels: {},
      gpu: undefined,
      manifest: {
        run: 'src/predict.py:predict',
        python: '3.11',
        requirements: 'requirements.txt',
        idle_timeout_s: 600,
        env: { HF_HUB_OFFLINE: '1' },
        models: { 'sdxl/unet.safetensors': { url: 'https://example.com/unet', sha256: SHA } },
      },
      settings: {
        gpus: ['L4', { gpu: 'A10G', after_s: 60 }],
        run_timeout_s: 90,
        labels: ['zone:eu'],
        retry: { attempts: 5 },
      },
      inputs: [
        expect.objectContaining({ name: 'seed', type: 'integer' }),
        { name: 'prompt', type: 'string', required: true },
      ],
    });
    expect(JSON.stringify(config.inputs)).toContain('"maximum":18446744073709551615');
  });

  it('says which workflow ComfyUI executes, with which nodes and models', async () => {
    const config = await reading(`
name = "portraits"
max_runs = 50

[comfyui]
workflow = "workflow_api.json"
random_seeds = true
custom_nodes.mine = { path = "nodes/mine" }
custom_nodes.Impact-Pack = { url = "https://example.com/impact.tar.gz", sha256 = "${SHA}" }

[models]
"checkpoints/sd15.safetensors" = { url = "https://example.com/sd15", sha256 = "${SHA}" }

[inputs]
prompt = { type = "string", node = "6", field = "text" }
`);
    expect(config).toMatchObject({
      manifest: {
        max_runs: 50,
        models: { 'checkpoints/sd15.safetensors': { url: 'https://example.com/sd15', sha256: SHA } },
      },
      comfyui: {
        workflow: 'workflow_api.json',
        random_seeds: true,
        custom_nodes: {
          mine: { path: 'nodes/mine' },
          'Impact-Pack': { url: 'https://example.com/impact.tar.gz', sha256: SHA },
        },
      },
      inputs: [{ name: 'prompt', type: 'string', node: '6', field: 'text' }],
    });
  });

  it('may be a table of pyproject.toml', async () => {
    const folder = codeFolder({
      'pyproject.toml': '[project]\nname = "x"\n[tool.runledger]\ncommand = ["./run.sh"]\ngpu = "cpu"\n',
    });
    expect(await readFolderConfig(folder)).toMatchObject({
      file: 'pyproject.toml',
      gpu: 'cpu',
      manifest: { command: ['./run.sh'] },
      inputs: undefined,
    });
  });

  it('is one file, and not two', async () => {
    const folder = codeFolder({
      'runledger.toml': 'run = "a.py:f"',
      'pyproject.toml': '[tool.runledger]\nrun = "a.py:f"',
    });
    await expect(readFolderConfig(folder)).rejects.toThrow(
      'runledger.toml and pyproject.toml both say what the folder is.',
    );
  });

  it('may stand beside a pyproject.toml of others', async () => {
    const folder = codeFolder({ 'runledger.toml': 'run = "a.py:f"', 'pyproject.toml': '[project]\nname = ' });
    expect(await readFolderConfig(folder)).toMatchObject({ file: 'runledger.toml' });
  });

  it('is shown to whoever has none', async () => {
    await expect(readFolderConfig(codeFolder({ 'predict.py': '' }))).rejects.toThrow(
      /has neither runledger.toml nor \[tool.runledger\][^]*run = "predict.py:predict"/,
    );
  });

  it.each([
    ['run = "a.py:f"\ngpuu = "L4"', 'gpuu: There is no such member; did you mean "gpu"?'],
    [
      'run = "a.py:f"\nrun_timeout = 5',
      'run_timeout: There is no such member; did you mean "run_timeout_s"?',
    ],
    [
      'run = "a.py:f"\nsomething_else = 5',
      'something_else: There is no such member. There are name, command,',
    ],
    [
      'run = "a.py:f"\n[retry]\nattemps = 5',
      'retry.attemps: There is no such member; did you mean "attempts"?',
    ],
    [
      'run = "a.py:f"\n[inputs]\nn = { type = "integer", mininum = 1 }',
      'inputs.n.mininum: There is no such member; did you mean "minimum"?',
    ],
    ['run = "a.py:f"\n[inputs]\nn = { type = "int" }', "inputs.n.type: Write 'string', 'integer'"],
    ['run = "a.py:f"\nrun_timeout_s = "5m"', 'run_timeout_s: Write a number'],
    ['run = "a.py:f"\nweight = 0', 'weight: Write 0.001 or more'],
    [
      'command = ["./a.sh"]\nkeep_loaded = 1',
      'keep_loaded: It is of a process that stays: write keep_prepared',
    ],
    ['run = "a.py:f"\npython = 3.11', 'python: Write a version as a text, such as "3.11"'],
    [
      'run = "predict.py"',
      'run: Write a file of the folder and a function in it, such as "predict.py:predict"',
    ],
    ['run = "a.py:f"\n[env]\nTHREADS = 4', 'env.THREADS: Write a text, in quotes'],
    ['run = "a.py:f"\n[env]\nMY-KEY = "x"', 'env.MY-KEY: Write a name of letters, digits and underscores'],
    ['run = "a.py:f"\nrequirements = "../r.txt"', 'requirements: Write the path of a file in the folder'],
    ['run = "a.py:f"\n[secrets]\nKEY = "a-b"', 'secrets.KEY: Write the name of a secret'],
    ['run = "a.py:f"\n[secrets]\nMY-KEY = "A"', 'secrets.MY-KEY: Write a name of letters'],
    ['secrets = [7]\nrun = "a.py:f"', 'secrets: Write a table, such as HF_TOKEN = "HF_TOKEN"'],
    [
      'run = "a.py:f"\nsecrets = ["A"]\n[env]\nA = "x"',
      'secrets.A: It is a variable of env too: take it out of one of them',
    ],
    ['run = "a.py:f"\nsecrets = ["TMPDIR"]', 'secrets.TMPDIR: The executor sets this variable itself'],
    ['run = "a.py:f"\n[env]\nRUNLEDGER_X = "x"', 'env.RUNLEDGER_X: The executor sets this variable itself'],
    [
      `run = "a.py:f"\n[models]\nw = { url = "https://x", sha256 = "${SHA}", headers = { A = "\${B}" } }`,
      'models.w.headers.A: ${B} is no variable of secrets: add B to secrets',
    ],
    [
      `run = "a.py:f"\n[models]\nw = { url = "https://x", sha256 = "${SHA}", headers = { host = "x" } }`,
      'models.w.headers.host: The executor sets this header itself',
    ],
    [
      `run = "a.py:f"\n[models]\nw = { url = "s3://bucket/w", sha256 = "${SHA}", headers = { A = "x" } }`,
      'models.w.headers.A: A request to S3 is signed',
    ],
    [
      `run = "a.py:f"\n[models]\nw = { url = "s3://bucket", sha256 = "${SHA}" }`,
      'models.w.url: Write an http or https URL, or s3://bucket/key',
    ],
    ['run = "a.py:f"\n[models]\nw = { sha256 = "x" }', 'models.w.sha256: Write the SHA-256 of the file'],
    [
      `run = "a.py:f"\n[models]\nw = { sha256 = "${SHA}" }`,
      'models.w: Write url, where the file is, or path',
    ],
    ['run = "a.py:f"\n[models]\nw = { url = "https://x" }', 'models.w.sha256: This is required: write it'],
    [
      `run = "a.py:f"\n[models]\n"/w" = { url = "https://x", sha256 = "${SHA}" }`,
      'models."/w": Write a path below the folder of models',
    ],
    [
      `run = "a.py:f"\n[models]\nw = { ulr = "https://x", sha256 = "${SHA}" }`,
      'models.w.ulr: There is no such member; did you mean "url"?',
    ],
    ['gpu = "L4"', 'run: Write what is executed: run = "predict.py:predict", or command'],
    ['run = "a.py:f"\ncommand = ["x"]', 'command: Write run, a function, or command, a program: not both'],
    ['run = "a.py:f"\nmode = "once"', 'mode: Leave it out'],
    ['command = ["x"]\nmode = "twice"', "mode: Write 'once' or 'resident'"],
    ['command = ["x"]\nmax_runs = 3', 'max_runs: It is of a process that stays: write mode = "resident"'],
    ['run = "a.py:f"\ngpu = "L4"\ngpus = ["T4"]', 'gpus: Write gpu, one model, or gpus'],
    ['run = "a.py:f"\nname = 7', 'name: Write a text'],
    ['run = ', 'runledger.toml is not valid TOML, line 1, column'],
    ['[comfyui]', 'comfyui.workflow: This is required: write it'],
    ['[comfyui]\nworkflow = "../w.json"', 'comfyui.workflow: Write the path of a file in the folder'],
    ['[comfyui]\nworkflw = "w.json"', 'comfyui.workflw: There is no such member; did you mean "workflow"?'],
    ['run = "a.py:f"\n[comfyui]\nworkflow = "w.json"', 'comfyui: Write one of run, a function, command'],
    ['command = ["x"]\n[comfyui]\nworkflow = "w.json"', 'comfyui: Write one of run, a function, command'],
    [
      comfyui('', 'python = "3.11"'),
      'python: Leave it out: the Python and the packages are those of the ComfyUI',
    ],
    [comfyui('', 'requirements = "r.txt"'), 'requirements: Leave it out: the Python and the packages'],
    [comfyui('', 'mode = "resident"'), 'mode: Leave it out: it is of a command, and ComfyUI always stays'],
    [
      comfyui('custom_nodes.a = { paht = "a" }'),
      'comfyui.custom_nodes.a.paht: There is no such member; did you mean "path"?',
    ],
    [
      comfyui('custom_nodes.a = { path = "../a" }'),
      'comfyui.custom_nodes.a.path: Write the path of a folder in the folder',
    ],
    [
      comfyui('custom_nodes.a = {}'),
      'comfyui.custom_nodes.a: Write where it is: { path = "nodes/my-nodes" }, or',
    ],
    [
      comfyui(`custom_nodes.a = { path = "a", url = "https://x" }`),
      'comfyui.custom_nodes.a: Write path, a folder in the folder, or url',
    ],
    [
      comfyui(`custom_nodes.a = { path = "a", sha256 = "${SHA}" }`),
      'comfyui.custom_nodes.a: Leave sha256 out',
    ],
    [
      comfyui('custom_nodes.a = { url = "https://x" }'),
      'comfyui.custom_nodes.a: Write the sha256 of the archive beside its url',
    ],
    [
      comfyui('custom_nodes.a = { url = "https://x", sha256 = "x" }'),
      'comfyui.custom_nodes.a.sha256: Write the SHA-256 of the file',
    ],
    [
      comfyui('custom_nodes."a/b" = { path = "a" }'),
      'comfyui.custom_nodes."a/b": Write a name of letters, digits',
    ],
    [
      comfyui('custom_nodes."a.disabled" = { path = "a" }'),
      'comfyui.custom_nodes."a.disabled": Write a name',
    ],
    [
      'run = "a.py:f"\n[inputs]\nn = { type = "integer", node = "6", field = "x" }',
      'inputs.n.node: Leave it out: only a workflow of [comfyui] has nodes',
    ],
  ])('that says %j is refused', async (toml, why) => {
    await expect(reading(toml)).rejects.toThrow(why);
  });

  it('names the table of pyproject.toml', async () => {
    const folder = codeFolder({ 'pyproject.toml': '[tool.runledger]\nrun = 3' });
    await expect(readFolderConfig(folder)).rejects.toThrow(
      /^pyproject.toml cannot be used:\n {2}tool.runledger.run: Write a file of the folder/,
    );
  });
});

describe('a folder with a model of Cog', () => {
  const cog = (text: string) => readFolderConfig(codeFolder({ 'cog.yaml': text }));

  it('is read from cog.yaml, in the words of runledger.toml', async () => {
    const text = `
build:
  gpu: true
  python_version: "3.11.4"
  python_requirements: requirements.txt
environment: ["HF_HUB_OFFLINE=1"]
predict: "predict.py:Predictor"
`;
    expect(await cog(text)).toMatchObject({
      file: 'cog.yaml',
      manifest: {
        run: 'predict.py:Predictor',
        python: '3.11',
        requirements: 'requirements.txt',
        env: { HF_HUB_OFFLINE: '1' },
      },
      gpu: undefined,
    });
    expect(await cog('predict: "predict.py:Predictor"')).toMatchObject({ gpu: 'CPU' });
  });

  it('is refused for what no executor can make, all at once', async () => {
    const text = `
build:
  system_packages: [ffmpeg, libgl1]
  python_packages: ["torch==2.3"]
  run: ["echo hello"]
`;
    await expect(cog(text)).rejects.toThrow(
      /predict: .*\n.*system_packages: .*ffmpeg, libgl1.*EXECUTOR_COG\n.*build\.run: .*\n.*python_requirements: requirements\.txt/,
    );
    await expect(cog('predict: [')).rejects.toThrow('cog.yaml is not valid YAML');
    await expect(cog('build: {python_version: 3.1}\npredict: "a.py:B"')).rejects.toThrow('such as "3.11"');
    const both = codeFolder({
      'cog.yaml': text,
      'runledger.toml': 'name = "a"\nrun = "a.py:B"\ngpu = "CPU"',
    });
    expect(await readFolderConfig(both)).toMatchObject({ file: 'runledger.toml' });
  });
});
