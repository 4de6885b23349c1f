import { CodeManifest, variableProblems, type StoredCode } from '@runledger/contracts/catalogue/code';
import { EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/comfyui-workflow';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import type { OrgId } from '@runledger/contracts/ids';
import type { JsonValue } from '@runledger/contracts/json';
import type { Context } from 'koa';
import { wrongValue, type Invalid } from '../../door/refusal.ts';

/** What the versions need of the files, which stand above them. */
export interface CodeArchives {
  /** The archive that a new version names. @throws {Refused} when there is none, or it is not what the manifest says */
  find(
    org_id: OrgId,
    named: { readonly code: string; readonly workflow: JsonValue },
  ): Promise<{
    readonly bytes: number;
    /** The SHA-256 of the models of the manifest that the gateway keeps. */
    readonly models: string[];
    readonly keep: () => Promise<StoredCode>;
  }>;
  /** Answers with the archive. @throws {Refused} when it is lost */
  send(ctx: Context, version: VersionWithCode): Promise<void>;
}

export interface VersionWithCode {
  readonly org_id: string;
  readonly created_at: string;
  readonly code: StoredCode;
}

const manifest = compiledSchema(CodeManifest);

/** What is wrong with the workflow of a version with code. */
export const manifestProblems = (workflow: JsonValue | undefined): Invalid[] => {
  if (manifest.Check(workflow)) {
    if (isEditorWorkflow(workflow.comfyui?.workflow))
      return [wrongValue(['body', 'workflow', 'comfyui', 'workflow', 'nodes'], EXPORT_API)];
    return variableProblems(workflow)
      .slice(0, MOST_PROBLEMS)
      .map(({ path, why }) => wrongValue(['body', 'workflow', ...path], why));
  }
  const where = (path: string): string[] => path.split('/').filter((part) => part !== '');
  return manifest
    .Errors(workflow)
    .slice(0, MOST_PROBLEMS)
    .map(({ instancePath, message }) => wrongValue(['body', 'workflow', ...where(instancePath)], message));
};

const MOST_PROBLEMS = 10;
