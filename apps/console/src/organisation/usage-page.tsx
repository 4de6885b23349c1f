import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import { CATALOGUE_MS } from '../api/query-client.ts';
import type { Schemas } from '../api/schemas.ts';
import { FillBar } from '../ui/fill-bar.tsx';
import { List } from '../ui/list.tsx';
import { bytes } from '../ui/words.ts';

type Usage = Schemas['Usage'];

const RESOURCES: Readonly<Record<keyof Usage, readonly [title: string, words: string]>> = {
  queued_runs: ['Queued runs', 'Runs that wait for a slot.'],
  catalogue_records: ['Catalogue', 'Machines, workflows, versions and deployments, archived ones included.'],
  schedules: ['Schedules', 'Paused ones included.'],
  secrets: ['Secrets', 'That programs get.'],
  workflow_bytes: ['Workflows', 'Equal ones count once, with the definitions of their inputs.'],
  blob_bytes: ['Large inputs', 'Inputs and lists of outputs over 4 KiB; equal ones count once.'],
  output_bytes: ['Output files', 'Until they expire.'],
  files: ['Uploaded files', 'Files that were uploaded, and unfinished uploads.'],
  file_bytes: ['Their size', 'Equal files count once.'],
  model_bytes: ['Models', 'Weights that are kept for versions; equal ones count once.'],
  uploads: ['Uploads now', 'At the gateway that responded.'],
  streams: ['Event streams now', 'With waiting reads, at the gateway that responded.'],
};

const NAMES = Object.keys(RESOURCES) as readonly (keyof Usage)[];

/** What the organisation uses of the stores that all organisations share. */
export const UsagePage = (): ReactNode => {
  const { data, error, isPending } = useQuery({
    queryKey: ['usage'],
    queryFn: async ({ signal }) => answered(api.GET('/usage', { signal })),
    refetchInterval: CATALOGUE_MS,
  });
  return (
    <div className="stack">
      <h1>Usage</h1>
      <p className="quiet">
        All organisations share the stores of this installation. Each may use its part of them. What would
        exceed it is refused.
      </p>
      <List
        what="usage"
        columns={['Resource', 'Used', 'What counts']}
        empty="Nothing is counted."
        isPending={isPending}
        error={error}
        rows={data ? NAMES.map((name) => <ResourceRow key={name} name={name} resource={data[name]} />) : []}
      />
    </div>
  );
};

interface ResourceRowProps {
  readonly name: keyof Usage;
  readonly resource: Schemas['ResourceUsage'];
}

const ResourceRow = ({ name, resource: { used, limit, unit } }: ResourceRowProps): ReactNode => {
  const [title, words] = RESOURCES[name];
  const amount = (value: number): string => (unit === 'bytes' ? bytes(value) : value.toLocaleString('en'));
  return (
    <tr>
      <th scope="row">{title}</th>
      <td>
        {used === null ? (
          `cannot be counted now, of ${amount(limit)}`
        ) : (
          <FillBar used={used} limit={limit} words={amount} />
        )}
      </td>
      <td className="quiet">{words}</td>
    </tr>
  );
};
