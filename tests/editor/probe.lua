-- Open the file, and print what the language server offers and says.
vim.cmd("edit conf/domain/vowels.yaml")
vim.wait(20000, function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end, 50)
vim.wait(20000, function() return #vim.diagnostic.get(0) > 1 end, 50)
for _, found in ipairs(vim.diagnostic.get(0)) do
  print("DIAG " .. found.message)
end
local place = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = 7, character = 7 } }
for _, answer in pairs(vim.lsp.buf_request_sync(0, "textDocument/completion", place, 20000) or {}) do
  for _, item in ipairs(answer.result and (answer.result.items or answer.result) or {}) do
    print("ITEM " .. item.label)
  end
end
vim.cmd("qall!")
