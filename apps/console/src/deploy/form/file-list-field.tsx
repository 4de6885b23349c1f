import { useMutation } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { FileDrop } from '../../ui/file-drop.tsx';
import { Problem } from '../../ui/problem.tsx';
import { bytes } from '../../ui/words.ts';
import { acceptedFiles } from './form-inputs.ts';
import { uploadFile, UPLOADS } from './upload-file.ts';

interface FileListFieldProps {
  readonly id: string;
  readonly type: string;
  /** What names each file, in order: the id of an uploaded one, or a URL of the default. */
  readonly files: readonly string[];
  readonly onChange: (files: readonly string[]) => void;
}

/** Takes files that are chosen or dropped, uploads them one after the other, and gives their ids. */
export const FileListField = ({ id, type, files, onChange }: FileListFieldProps): ReactNode => {
  const [titles, setTitles] = useState<ReadonlyMap<string, string>>(new Map());
  const upload = useMutation({
    mutationKey: UPLOADS,
    mutationFn: async (chosen: readonly File[]) => {
      const added: string[] = [];
      try {
        for (const file of chosen) {
          const uploaded = await uploadFile(file);
          const title = `${uploaded.filename}, ${bytes(uploaded.bytes)}`;
          setTitles((known) => new Map([...known, [uploaded.id, title]]));
          added.push(uploaded.id);
        }
      } finally {
        // Those before one that is refused are uploaded.
        if (added.length > 0) onChange([...files, ...added]);
      }
    },
  });
  return (
    <FileDrop
      id={id}
      accept={acceptedFiles(type)}
      isMultiple
      isDisabled={upload.isPending}
      onFiles={upload.mutate}
    >
      <p className="quiet" role="status">
        {upload.isPending ? 'Uploading …' : 'Choose files, or drop them here. They stay in this order.'}
      </p>
      <ol>
        {files.map((file, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the same file may be in the list twice
          <li key={`${index} ${file}`}>
            {titles.get(file) ?? file}{' '}
            <button
              type="button"
              disabled={upload.isPending}
              aria-label={`Remove file ${index + 1}, ${titles.get(file) ?? file}`}
              onClick={() => onChange(files.filter((_, other) => other !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ol>
      {upload.error && <Problem error={upload.error} />}
    </FileDrop>
  );
};
