// Checks that the registry has signed the installed packages. npm fetches the keys for this from elsewhere, which not every network allows.
import { spawnSync } from 'node:child_process';
import { root } from './node24.mjs';

const WITHIN_MS = 300_000;

/** Whether no signature is wrong or missing. Where npm cannot check them, it says why, and is content. */
export const signaturesAreRight = () => {
  const args = ['audit', 'signatures', '--json', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  const options = { cwd: root, encoding: 'utf8', timeout: WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
  const { stdout, error } = spawnSync('npm', args, options);
  const answer = parsed(stdout);
  const wrong = [...(answer.invalid ?? []), ...(answer.missing ?? [])];
  if (wrong.length > 0) {
    console.log('FAILED  signatures of the registry (npm audit signatures): wrong or missing for');
    for (const { name, version } of wrong) console.log(`  ${name} ${version}`);
    return false;
  }
  const isChecked = answer.invalid !== undefined;
  const why = answer.error?.summary ?? error?.message ?? 'npm gave no answer';
  const line = isChecked ? 'ok      signatures of the registry' : 'skipped signatures of the registry';
  console.log(`${line} (npm audit signatures)${isChecked ? '' : `: ${why.split('\n')[0]}`}`);
  return true;
};

const parsed = (json) => {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
};
