import { Type, type TString } from 'typebox';

/**
 * The ids of records in the examples of the document. A gateway may be told records that exist: its document has their ids
 * instead (RUNLEDGER_EXAMPLE_IDS).
 */
export const EXAMPLE_IDS = {
  machine_id: '01a21460-0001-7000-8000-000000000001',
  workflow_id: '01a21460-0002-7000-8000-000000000002',
  workflow_version_id: '01a21460-0003-7000-8000-000000000003',
  deployment_id: '01a21460-0004-7000-8000-000000000004',
} as const;

const id = (of: string, example: string): TString =>
  Type.String({ format: 'uuid', description: `The id of ${of}.`, examples: [example] });

export const MachineUuid = id('the machine', EXAMPLE_IDS.machine_id);
export const WorkflowUuid = id('the workflow', EXAMPLE_IDS.workflow_id);
export const VersionUuid = id('the workflow version', EXAMPLE_IDS.workflow_version_id);
export const DeploymentUuid = id('the deployment', EXAMPLE_IDS.deployment_id);
export const ScheduleUuid = id('the schedule', '01a21460-0005-7000-8000-000000000005');
export const RunUuid = id('the run', '01a21460-ae48-7794-b9bb-ade918a387db');
export const OrganisationUuid = id(
  'the organisation that it belongs to',
  '01a21460-0006-7000-8000-000000000006',
);
export const UserUuid = id('the user', '01a21460-0007-7000-8000-000000000007');
export const KeyUuid = id('the API key', '01a21460-0008-7000-8000-000000000008');
export const FileUuid = id('the file', '01a21460-0009-7000-8000-000000000009');
export const UploadUuid = id('the upload', '01a21460-000a-7000-8000-00000000000a');
