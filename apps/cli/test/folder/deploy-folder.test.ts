import { execFileSync } from 'node:child_process';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeFolder, PREDICT, writeFiles } from '../fixtures/code-folder.ts';
import { aCatalogue } from '../fixtures/real-catalogue.ts';

const { cli, json, read } = aCatalogue();

const FILES = {
  'runledger.toml': 'name = "portraits"\nrun = "predict.py:predict"\ngpu = "CPU"\nrun_timeout_s = 90\n',
  'predict.py': PREDICT,
};

/** A folder whose deployment has a name of its own. */
const folderOf = (name: string, more: Readonly<Record<string, string>> = {}): string =>
  codeFolder({ ...FILES, 'runledger.toml': FILES['runledger.toml'].replace('portraits', name), ...more });

// oxlint-disable-next-line typescript/no-explicit-any -- JSON that tests look into
const deploy = async (cwd: string, ...options: string[]): Promise<any> =>
  json(['deploy', '.', ...options], { cwd });
const refused = async (cwd: string, ...options: string[]): Promise<string> => {
  const before = (await read('/usage')).catalogue_records;
  const { code, stderr } = await cli(['deploy', '.', ...options], { cwd });
  expect(code).toBe(2);
  expect((await read('/usage')).catalogue_records).toEqual(before);
  return stderr;
};

const NONE = { added: [], removed: [], changed: [] };

describe('runledger deploy of a folder', () => {
  it('makes a version with its code, and a repeated command changes nothing', async () => {
    const cwd = folderOf('first');
    const made = await deploy(cwd, '--message', 'the first');
    expect(made).toMatchObject({
      deployment: { outcome: 'new' },
      version: { outcome: 'new', number: 1 },
      machine: { outcome: 'new' },
      changes: { since: null, files: { added: ['predict.py', 'runledger.toml'] } },
    });
    expect(made).not.toHaveProperty('workflow');
    const deployment = await json(['deployments', 'show', 'first']);
    expect(deployment).toMatchObject({ run_timeout_s: 90, gpu: null });
    expect(await json(['machines', 'show', 'first'])).toMatchObject({ gpu: 'CPU', runner: { kind: 'code' } });
    const { workflow_id } = deployment as unknown as { workflow_id: string };
    expect(await read(`/workflows/${workflow_id}/versions/${made.version.id}`)).toMatchObject({
      workflow: { code_sha256: made.code.sha256, run: 'predict.py:predict' },
      inputs: [
        { name: 'prompt', type: 'string', required: true },
        { name: 'steps', type: 'integer', default: 20 },
      ],
      code: made.code,
      message: 'the first',
      commit: null,
    });
    utimesSync(join(cwd, 'predict.py'), 1, 1);
    expect(await deploy(cwd)).toMatchObject({
      deployment: { outcome: 'unchanged' },
      version: { outcome: 'unchanged', number: 1 },
      machine: { outcome: 'unchanged' },
      changes: { since: 1, files: NONE, manifest: NONE, inputs: NONE, settings: [] },
    });
  });

  it('says what changed, and makes a version only for what belongs to one', async () => {
    const cwd = folderOf('changing', { 'old.txt': '' });
    await deploy(cwd);
    rmSync(join(cwd, 'old.txt'));
    writeFiles(cwd, { 'predict.py': PREDICT.replace('steps: int', 'size: int'), 'sub/new.py': '' });
    const { stdout } = await cli(['deploy'], { cwd });
    expect(stdout).toMatch(
      /^Changed since version 1:\n {2}1 file added: sub\/new.py\n {2}1 file removed: old.txt\n {2}1 file changed: predict.py\n {2}1 input added: size\n {2}1 input removed: steps\n3 files, \d+ bytes, packed \d+ bytes\nWHAT +ID +NOW +NAME\ndeployment +\S+ +updated +changing\nversion +\S+ +new +2\ncode +- +new +[0-9a-f]{12}\nmachine +\S+ +unchanged +changing\n/,
    );
    expect(stdout).toContain('runledger queue --watch --deployment changing --input prompt=TEXT');
    // An option is no part of the folder.
    expect(await deploy(cwd, '--run-timeout', '60', '--gpu', 'L4')).toMatchObject({
      deployment: { outcome: 'updated' },
      version: { outcome: 'unchanged' },
      machine: { outcome: 'updated' },
      changes: { settings: ['run_timeout_s'] },
    });
  });

  it('changes nothing with --dry-run, and says the same', async () => {
    const cwd = folderOf('tried');
    expect(await deploy(cwd, '--dry-run')).toMatchObject({
      dry_run: true,
      deployment: { id: null, outcome: 'new' },
      version: { id: null, number: null, outcome: 'new' },
      changes: { files: { added: ['predict.py', 'runledger.toml'] } },
    });
    expect((await cli(['deployments', 'show', 'tried'])).code).toBe(2);
    const made = await deploy(cwd);
    expect(await deploy(cwd, '--dry-run')).toMatchObject({
      deployment: { id: made.deployment.id, outcome: 'unchanged' },
      version: { id: made.version.id, outcome: 'unchanged' },
      machine: { outcome: 'unchanged' },
    });
    writeFiles(cwd, { 'predict.py': `${PREDICT}\n` });
    const { stdout, stderr } = await cli(['deploy', '.', '--dry-run', '--attempts', '5'], { cwd });
    expect(stdout).toContain('1 file changed: predict.py');
    expect(stdout).toContain('Settings of the deployment that change: retry');
    expect(stdout).toMatch(
      /^WHAT +ID +WOULD BE +NAME\ndeployment +\S+ +updated +tried\nversion +- +new +the next one/m,
    );
    expect(stderr).toContain('Nothing was changed.');
    expect((await read('/files?limit=1')).files).toHaveLength(1);
    expect(await json(['versions', 'tried'])).toMatchObject({ number: 1, used: true });
  });

  it('names the commit of the folder', async () => {
    const cwd = folderOf('committed');
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
        cwd,
        encoding: 'utf8',
      });
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'first');
    const head = git('rev-parse', 'HEAD').trim();
    await deploy(cwd);
    writeFileSync(join(cwd, 'predict.py'), `${PREDICT}# more\n`);
    await deploy(cwd, '--message', 'more');
    const { stdout } = await cli(['versions', 'committed']);
    expect(stdout).toMatch(
      new RegExp(
        `^VERSION +CREATED +CODE +COMMIT +BY +MESSAGE\\n2 \\* +\\S+Z +[0-9a-f]{12} +${head.slice(0, 7)}\\+changes +\\S+ +more\\n1 +\\S+Z +[0-9a-f]{12} +${head.slice(0, 7)} +\\S+ +-\\n$`,
      ),
    );
  });

  it('has its inputs from [inputs] for a command, and refuses files that are not there', async () => {
    const command = 'name = "commands"\ngpu = "CPU"\ncommand = ["./run.sh", "--fast"]\n';
    const cwd = codeFolder({
      'runledger.toml': `${command}[inputs]\nprompt = { type = "string", required = true }\n`,
    });
    expect(await refused(cwd)).toBe(
      'runledger.toml: command names run.sh, and there is no such file in the folder. Write the path of one, from the folder on.\n',
    );
    writeFiles(cwd, { 'run.sh': '#!/bin/sh\n', '.gitignore': '*.sh\n' });
    expect(await refused(cwd)).toContain('command names run.sh, which is left out');
    writeFiles(cwd, { '.runledgerignore': '!run.sh\n' });
    const { version } = await deploy(cwd);
    expect(version).toMatchObject({ number: 1 });
  });

  it('has a ComfyUI workflow, whose machine executes nothing else', async () => {
    const toml = (more = '') =>
      `name = "comfy"\ngpu = "CPU"\n[comfyui]\nworkflow = "api.json"\ncustom_nodes.mine = { path = "nodes/mine" }\n${more}[inputs]\nword = { type = "string", node = "1", field = "text" }\n`;
    const prompt = { '1': { class_type: 'Echo', inputs: { text: 'x', seed: 5 } } };
    const cwd = codeFolder({ 'runledger.toml': toml() });
    expect(await refused(cwd)).toContain('comfyui.workflow names api.json, and there is no such file');
    writeFiles(cwd, { 'api.json': '{' });
    expect(await refused(cwd)).toContain(
      'comfyui.custom_nodes.mine names nodes/mine, and the folder has no files',
    );
    writeFiles(cwd, { 'nodes/mine/__init__.py': '' });
    expect(await refused(cwd)).toContain('runledger.toml: comfyui.workflow: ');
    const saved = { last_node_id: 1, nodes: [{ id: 1, type: 'Echo' }], links: [] };
    writeFiles(cwd, { 'api.json': JSON.stringify(saved) });
    expect(await refused(cwd)).toContain(
      "api.json is refused: this is a workflow as ComfyUI's editor saves it",
    );
    writeFiles(cwd, { 'api.json': '{"1": {}}' });
    expect(await refused(cwd)).toContain('api.json is no ComfyUI workflow in API format');
    writeFiles(cwd, { 'api.json': JSON.stringify(prompt), 'runledger.toml': toml().replace('"1"', '"7"') });
    expect(await refused(cwd)).toContain('The workflow has no node "7"');
    writeFiles(cwd, { 'runledger.toml': toml() });
    const { stderr } = await cli(['deploy'], { cwd });
    expect(stderr).toContain('Each run has the same seed of node 1. With random_seeds = true in [comfyui]');
    writeFiles(cwd, { 'runledger.toml': toml('random_seeds = true\n') });
    const { version } = await deploy(cwd);
    expect(version).toMatchObject({ number: 2 });
    expect(await deploy(cwd)).toMatchObject({ version: { outcome: 'unchanged' } });
    expect(await json(['machines', 'show', 'comfy'])).toMatchObject({
      runner: { kind: 'code', server: 'comfyui' },
    });
    const { workflow_id } = (await json(['deployments', 'show', 'comfy'])) as unknown as {
      workflow_id: string;
    };
    expect(await read(`/workflows/${workflow_id}/versions/${version.id}`)).toMatchObject({
      workflow: { comfyui: { workflow: prompt, custom_nodes: { mine: { path: 'nodes/mine' } } } },
      inputs: [
        { name: 'word', type: 'string', node: '1', field: 'text' },
        { name: 'seed', type: 'integer', random: true, node: '1', field: 'seed' },
      ],
    });
    const other = folderOf('no-comfy');
    expect(await refused(other, '--machine', 'comfy')).toContain(
      'executes the ComfyUI workflows of folders, and this folder has other code',
    );
    await deploy(other);
    expect(await refused(cwd, '--name', 'apart', '--machine', 'no-comfy')).toContain(
      'executes the code of folders, and this folder has a ComfyUI workflow',
    );
    expect(await refused(cwd, '--name', 'no-comfy')).toContain(
      'There is a machine no-comfy already, and it executes the code of folders.',
    );
  });

  it('has settings from its file, and others from options', async () => {
    const file =
      'name = "settled"\ncommand = ["true"]\ngpus = ["L4", "T4"]\n[retry]\nattempts = 2\non = ["crashed"]\n';
    const cwd = codeFolder({ 'runledger.toml': file });
    await deploy(cwd);
    const settled = (): Promise<unknown> => json(['deployments', 'show', 'settled']);
    expect(await settled()).toMatchObject({ gpu: 'L4', retry: { attempts: 2, on: ['crashed'] } });
    expect(await json(['machines', 'show', 'settled'])).toMatchObject({ gpu: 'L4' });
    expect(await deploy(cwd, '--gpu', 'a100', '--attempts', '7')).toMatchObject({
      machine: { outcome: 'updated' },
      changes: { settings: ['gpus', 'retry'] },
    });
    expect(await settled()).toMatchObject({ gpus: [], retry: { attempts: 7, on: ['crashed'] } });
    expect(await json(['machines', 'show', 'settled'])).toMatchObject({ gpu: 'A100' });
  });

  it('refuses what cannot be, and makes nothing', async () => {
    const cwd = folderOf('wrong', { '.env': 'KEY=x' });
    expect(await refused(cwd, '--program', 'x')).toContain('--program is for a workflow file.');
    expect(await refused(cwd, '--no-inputs')).toContain('--no-inputs is for a workflow file.');
    expect(await refused(cwd, '--log-mask', '(')).toContain('log_masks');
    const machine = ['--name', 'programs', '--gpu', 'CPU', '--program', 'x'];
    await json(['machines', 'create', ...machine]);
    expect(await refused(cwd, '--machine', 'programs')).toContain('and not the code of folders');
    writeFiles(cwd, { 'predict.py': 'def predict(\n' });
    expect(await refused(cwd)).toContain('predict.py');
    writeFiles(cwd, { 'runledger.toml': 'run = "predict.py:predict"' });
    expect(await refused(cwd)).toContain('runledger.toml has no name for the deployment. Write name = "');
    const empty = codeFolder({ 'runledger.toml': FILES['runledger.toml'], '.runledgerignore': '*\n' });
    expect(await refused(empty)).toContain('The folder has no files that are not ignored.');
    const { stderr } = await cli(['deploy', '-'], { stdin: '{}' });
    expect(stderr).toContain('Give the deployment one with --name NAME.');
  });

  it('says that it left out what may hold secrets', async () => {
    const cwd = folderOf('secretive', { '.env': 'KEY=x' });
    const { stderr } = await cli(['deploy', '.'], { cwd });
    expect(stderr).toContain('Left out, since it may hold secrets: .env.');
  });
});

describe('runledger rollback', () => {
  it('lets new runs have an earlier version, and a later one again', async () => {
    const cwd = folderOf('rolling');
    await deploy(cwd);
    for (const change of ['one', 'two']) {
      writeFiles(cwd, { 'predict.py': `${PREDICT}# ${change}\n` });
      await deploy(cwd, '--message', change);
    }
    const used = async (): Promise<string> =>
      /^(\d+) \*/m.exec((await cli(['versions', 'rolling'])).stdout)?.[1] ?? '';
    expect(await cli(['rollback', 'rolling'])).toMatchObject({
      code: 0,
      stdout: 'rolling has version 2 now (one), and no longer version 3. Runs that are queued keep theirs.\n',
    });
    expect(await used()).toBe('2');
    // What is deployed is compared with what runs get, and not with the newest one.
    writeFiles(cwd, { 'predict.py': `${PREDICT}# one\n` });
    expect(await deploy(cwd)).toMatchObject({ version: { outcome: 'unchanged', number: 2 } });
    expect(await json(['rollback', 'rolling', '3'])).toMatchObject({ from: 2, to: 3 });
    const { workflow_id } = (await json(['deployments', 'show', 'rolling'])) as unknown as {
      workflow_id: string;
    };
    await json(['workflows', 'version', 'archive', workflow_id, '2']);
    expect(await json(['rollback', 'rolling'])).toMatchObject({ from: 3, to: 1 });
    expect((await cli(['rollback', 'rolling', '1'])).stdout).toBe('rolling has version 1 already.\n');
    expect(await cli(['rollback', 'rolling'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('rolling has version 1, and none before it that is not archived.'),
    });
    expect(await cli(['rollback', 'rolling', '9'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no version 9'),
    });
    const completed = await cli(['complete', '--', 'rollback', 'rolling', '']);
    expect(completed.stdout).toMatch(/^words\n3\tcreated .*\n1\tcreated/);
  });
});
