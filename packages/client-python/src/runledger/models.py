# Made by `npm run client:python` from the OpenAPI document with the SHA-256 291f70dbfc17c75a3b0056350ef18a2eab1011d40d5586b1c554ba644cf8fb77.
